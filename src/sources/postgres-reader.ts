import type { Duplex } from 'node:stream';
import type { ClientBase, QueryArrayConfig } from 'pg';
import type { ErrorCode } from '../core/errors/registry.js';
import { deferred } from '../core/processes/deferred.js';
import { UNORDERED } from '../core/rows/source-fields.js';
import {
  identifier,
  openPostgres,
  type PgTransaction,
  PostgresAway,
  PostgresRefused,
  parseAddress,
  problemOf,
} from '../postgres/index.js';
import {
  CsvError,
  InputUnsteady,
  MAX_RECORD,
  nameColumns,
  type OpenedTable,
  type RowReader,
  type RowRecord,
} from '../rows/index.js';
import { isScalar, type PgType, readColumn, type SplitArray } from './canonical-value.js';
import type { SourceRequest } from './source-request.js';

/** Time in ms that the server may take for all rows of a query: by default, and at most (`statement_timeout` of the address). */
const LIMIT_MS = 600_000;
const MOST_MS = 6 * 3_600_000;
/** Longest wait, in ms, for a server that cannot be reached. */
const PATIENCE_MS = 5000;
const FETCH_ROWS = 256;
/** Number of characters of rows above which the connection waits until they are taken. */
const WAITING_CHARS = 4 * 1_048_576;
/** Longest wait, in ms, for the end of the transaction. */
const GOODBYE_MS = 2000;
/** Interval in ms at which the server checks, during a statement, whether this process is still connected. */
const CHECK_MS = 2000;
const CURSOR = 'searchflow_rows';

interface Described {
  readonly client: ClientBase;
  readonly fields: readonly { readonly name: string; readonly type: PgType }[];
  readonly split: SplitArray;
}

/** `input`: the address, with user and password if it has some. */
type PostgresRequest = Pick<SourceRequest, 'input' | 'isKeyed'>;

/** Returns a reader of the rows of a query, one SELECT statement: a cursor of a read-only transaction, which holds a piece of the rows at a time. */
export function postgresReader({ input, isKeyed = false }: PostgresRequest, sql: string): RowReader {
  return {
    async open(signal) {
      const address = parseAddress(input, '');
      // The limit is set in the transaction, because PgBouncer refuses it in the beginning of a connection.
      const { statement_timeout: limit, ...parameters } = address.parameters;
      const limitMs = Math.min(Number(limit) || LIMIT_MS, MOST_MS);
      const end = new AbortController();
      const signals = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]);
      const explain = (error: unknown, away = true) => queryError(error, address.shown, limitMs, away);
      const ready = deferred<Described>();
      const over = deferred<void>();
      const postgres = await openPostgres(
        { ...address, parameters },
        { applicationName: 'searchflow rows', max: 1, patienceMs: PATIENCE_MS },
      ).catch((error: unknown) => {
        throw explain(error);
      });
      let isOver = false;
      const transaction = postgres.transaction(
        async (tx) => {
          // The connection broke after the last row.
          if (isOver) return;
          const described = await describe(tx, sql, address.schema).catch((error: unknown) => {
            throw explain(error, false);
          });
          isOver = true;
          ready.resolve(described);
          await over.promise;
        },
        { signal: signals, statementMs: limitMs },
      );
      transaction.catch((error: unknown) => ready.reject(error as Error));
      const close = async () => {
        over.resolve();
        const late = setTimeout(() => end.abort(), GOODBYE_MS);
        await transaction.catch(() => undefined);
        clearTimeout(late);
        await postgres.close();
      };
      try {
        const table = tableOf(await ready.promise, { limitMs, shown: address.shown, explain, signal });
        return { ...table, notes: isKeyed || isOrdered(sql) ? [] : [UNORDERED], close };
      } catch (error) {
        await close();
        throw signal?.aborted ? signal.reason : explain(error);
      }
    },
  };
}

interface Reading {
  readonly limitMs: number;
  readonly shown: string;
  readonly explain: (error: unknown) => unknown;
  readonly signal: AbortSignal | undefined;
}

function tableOf({ client, fields, split }: Described, reading: Reading): Omit<OpenedTable, 'close' | 'notes'> {
  if (fields.length === 0) throw new CsvError('sql-invalid', 'The SQL has no columns');
  const { names, renamed } = nameColumns(fields.map(({ name }) => name));
  const readings = fields.map(({ type }) => readColumn(type, split));
  const typesAtEnd = () => readings.map((column) => column.type());
  const columns = typesAtEnd().map((type, index) => ({ name: names[index] as string, type }));
  const place = { word: 'row' as const };
  return {
    ...{ columns, typesAtEnd, isTyped: true, renamed, delimiter: null },
    async *batches() {
      let line = 0;
      for await (const rows of pieces(client, reading)) {
        yield rows.map((row): RowRecord => {
          line++;
          // The text of a `bytea` has twice as many characters as its value.
          if (charsOf(row) > 2.5 * MAX_RECORD)
            throw new CsvError(
              'input-too-large',
              `row ${line}: the row has more than ${MAX_RECORD / 1_048_576} MiB, which is the limit`,
            );
          const cells = row.map((text, index) => (text === null ? null : (readings[index]?.read(text) ?? text)));
          return { line, place, cells, problem: null };
        });
      }
    },
    contentHash: () => null,
    progress: () => ({ bytes: 0, total: null }),
  };
}

type TextRow = readonly (string | null)[];

/** Every value as the server's text. */
const asTexts = { getTypeParser: () => (text: string) => text };

async function* pieces(
  client: ClientBase,
  { limitMs, shown, explain, signal }: Reading,
): AsyncGenerator<readonly TextRow[]> {
  // The server limits each FETCH, so that a query of endless rows would never end.
  let leftMs = limitMs;
  for (let isMore = true; isMore; ) {
    signal?.throwIfAborted();
    isMore = false;
    let began = performance.now();
    try {
      for await (const rows of fetched(client)) {
        leftMs -= performance.now() - began;
        isMore = true;
        yield rows;
        began = performance.now();
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw explain(error);
    }
    if (leftMs < 0) throw tooLong(shown, limitMs);
  }
}

const charsOf = (row: TextRow) => row.reduce((all, cell) => all + (cell?.length ?? 0) + 1, 0);

/** The rows of a FETCH as they arrive. The connection waits while many characters are not taken. */
async function* fetched(client: ClientBase): AsyncGenerator<readonly TextRow[]> {
  const { Query } = (await import('pg')).default;
  const { stream } = (client as ClientBase & { readonly connection: { readonly stream: Duplex } }).connection;
  let [rows, chars, isOver, wake] = [[] as TextRow[], 0, false, deferred<void>()];
  let problem: Error | null = null;
  const end = (error: Error | null) => {
    problem = error;
    isOver = true;
    wake.resolve();
  };
  const text = `FETCH FORWARD ${FETCH_ROWS} FROM ${CURSOR}`;
  const query = client.query(new Query<never>({ text, rowMode: 'array', types: asTexts } as QueryArrayConfig));
  query.on('end', () => end(null)).on('error', end);
  query.on('row', (row: unknown) => {
    rows.push(row as TextRow);
    chars += charsOf(row as TextRow);
    if (chars <= WAITING_CHARS) return;
    stream.pause();
    wake.resolve();
  });
  try {
    while (!isOver || rows.length > 0) {
      stream.resume();
      if (!isOver) await wake.promise;
      const taken = rows;
      [rows, chars, wake] = [[], 0, deferred()];
      if (taken.length > 0) yield taken;
    }
    if (problem !== null) throw problem;
  } finally {
    query.removeAllListeners('row');
    stream.resume();
  }
}

/** Declares the cursor in a transaction that only reads, and describes its columns. */
async function describe(tx: PgTransaction, sql: string, schema: string): Promise<Described> {
  const { client } = tx;
  const path = schema === '' ? 'DEFAULT' : `${identifier(schema)}, public`;
  await client.query(
    `SET TRANSACTION READ ONLY; SET LOCAL search_path TO ${path}; SET LOCAL bytea_output TO 'hex'; SET LOCAL extra_float_digits TO 1`,
  );
  // The server itself ends the statement of a process that was killed. Servers before version 14 have no such setting, and some systems no
  // such check.
  await client.query(
    `SELECT set_config(name, '${CHECK_MS}', true) FROM pg_settings
     WHERE name = 'client_connection_check_interval' AND version() LIKE '%linux%'`,
  );
  // The extended protocol takes one statement only, and a cursor is for SELECT only.
  const declare = { text: `DECLARE ${CURSOR} NO SCROLL CURSOR FOR ${sql}`, queryMode: 'extended' };
  await client.query(declare);
  const { fields } = await client.query(`FETCH FORWARD 0 FROM ${CURSOR}`);
  const unknown = [...new Set(fields.map(({ dataTypeID }) => dataTypeID))].filter((oid) => !isScalar(oid));
  const arrays = await tx.query<{ oid: number; element: number }>(
    `SELECT oid::bigint::int8 AS oid, typelem::bigint AS element FROM pg_catalog.pg_type
     WHERE oid = ANY($1::oid[]) AND typinput = 'array_in'::regproc AND typdelim = ','`,
    [unknown],
  );
  const elements = new Map(arrays.map(({ oid, element }) => [Number(oid), Number(element)]));
  const { default: pg } = await import('pg');
  const { create } = pg.types.arrayParser as unknown as {
    create(text: string, element: (text: string) => string): { parse(): unknown[] };
  };
  return {
    client,
    split: (text, element) => create(text, element).parse(),
    fields: fields.map(({ name, dataTypeID: oid, dataTypeModifier: modifier }) => ({
      name,
      type: { oid, modifier, element: elements.get(oid) ?? null },
    })),
  };
}

/** Texts, quoted names, comments and dollar-quoted texts of SQL, parentheses, and the words ORDER BY. */
const token = /'[^']*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*|)\$[\s\S]*?\$\1\$|[()]|\border\s+by\b/gi;

/** Whether a SELECT orders its rows itself, not only those of a subquery or a window. */
export function isOrdered(sql: string): boolean {
  let depth = 0;
  for (const [found] of sql.matchAll(token)) {
    if (found === '(') depth++;
    else if (found === ')') depth--;
    else if (depth === 0 && /^order/i.test(found)) return true;
  }
  return false;
}

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
function queryError(error: unknown, shown: string, limitMs: number, away: boolean): unknown {
  if (!(error instanceof Error) || error instanceof CsvError || error.name === 'AbortError') return error;
  if (error instanceof PostgresAway) return new InputUnsteady('source-unreachable', `${error.message}`);
  if (error instanceof PostgresRefused) {
    const way = /^28/.test(error.code ?? '')
      ? '. Correct user and password: in --from, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass'
      : '';
    return new CsvError('source-access-refused', `${error.message}${way}`);
  }
  const code = (error as { code?: unknown }).code;
  // An error of the server may quote a value of any length.
  const message = error.message.slice(0, 1000);
  const said = `${String(code)}: ${message}`;
  if (code === '57014') return tooLong(shown, limitMs);
  const cause = causes.find(([when]) => when.test(said));
  if (cause !== undefined) return new CsvError(cause[2], `${cause[1](message)}`);
  const problem = problemOf(error);
  if (problem === 'other') return new CsvError('sql-failed', `The SQL fails on ${shown} (PostgreSQL: ${message})`);
  if (!away) return error;
  return new InputUnsteady(
    'source-unreachable',
    `The connection to ${shown} broke while rows were read (${message}); try again`,
  );
}

function tooLong(shown: string, limitMs: number): CsvError {
  return new CsvError(
    'sql-too-slow',
    `The SQL took more than ${limitMs / 1000} s on ${shown} and was stopped. Make it faster, or allow more time with ?statement_timeout=3600000 (ms) in the address`,
  );
}
