import type { ErrorCode } from '../core/errors/registry.js';
import { PostgresAway, PostgresRefused, problemOf } from '../postgres/index.js';
import { CsvError, InputUnsteady } from '../rows/index.js';

/** The first words of statements that a cursor does not take; PostgreSQL calls them a syntax error. */
const OTHER_STATEMENT =
  /^42601: (syntax error at or near "(insert|update|delete|merge|truncate|create|drop|alter|grant|revoke|copy|call|do|explain|show|set|reset|lock|begin|start|commit|rollback|vacuum|analyze|refresh)"|.*\bINTO is not allowed)/i;

/** Causes of a refused query, each with the sentence, by SQLSTATE or by the message of the server. */
const causes: readonly (readonly [when: RegExp, say: (said: string) => string, code: ErrorCode])[] = [
  [
    /^(42P02|08P01): /,
    () => 'The SQL has a parameter such as $1, which has no value: write the value itself',
    'sql-invalid',
  ],
  [
    /^42601: cannot insert multiple/,
    () => 'The SQL must be one SELECT, and it has several statements',
    'sql-not-allowed',
  ],
  ...[OTHER_STATEMENT, /^(25006|0A000|42P11): /].map(
    (when) =>
      [
        when,
        (said: string) =>
          `The SQL must be one SELECT: it may read tables and views, and change nothing (PostgreSQL: ${said})`,
        'sql-not-allowed',
      ] as const,
  ),
  [/^42601: /, (said) => `The SQL is not one valid SELECT (PostgreSQL: ${said})`, 'sql-invalid'],
  [
    /^42501: /,
    (said) => `The SQL names what the user may not read (PostgreSQL: ${said}). Ask its owner for the right SELECT`,
    'source-access-refused',
  ],
  [/^(42|3F|3D)/, (said) => `The SQL does not fit the database (PostgreSQL: ${said})`, 'sql-failed'],
  [/^53/, (said) => `The server has no room for the SQL (PostgreSQL: ${said})`, 'source-out-of-memory'],
];

/**
 * Returns an error of the driver or the server as one sentence. `away`: whether a broken connection ends the reading. Otherwise such an error
 * passes unchanged, so that the caller connects again.
 */
export function queryError(error: unknown, shown: string, limitMs: number, away: boolean): unknown {
  if (!(error instanceof Error) || error instanceof CsvError || error.name === 'AbortError') return error;
  if (error instanceof PostgresAway) return new InputUnsteady('source-unreachable', `${error.message}`);
  if (error instanceof PostgresRefused) {
    const way = /^28/.test(error.code ?? '')
      ? '. Correct user and password: in --from, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass'
      : '';
    return new CsvError('source-access-refused', `${error.message}${way}`);
  }
  const code = (error as { code?: unknown }).code;
  const said = `${String(code)}: ${error.message}`;
  if (code === '57014') return tooLong(shown, limitMs);
  const cause = causes.find(([when]) => when.test(said));
  if (cause !== undefined) return new CsvError(cause[2], `${cause[1](error.message)}`);
  const problem = problemOf(error);
  if (problem === 'other')
    return new CsvError('sql-failed', `The SQL fails on ${shown} (PostgreSQL: ${error.message})`);
  if (!away) return error;
  return new InputUnsteady(
    'source-unreachable',
    `The connection to ${shown} broke while rows were read (${error.message}); try again`,
  );
}

export function tooLong(shown: string, limitMs: number): CsvError {
  return new CsvError(
    'sql-too-slow',
    `The SQL took more than ${limitMs / 1000} s on ${shown} and was stopped. Make it faster, or allow more time with ?statement_timeout=3600000 (ms) in the address`,
  );
}
