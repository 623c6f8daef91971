import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ErrorCode } from '../../core/errors/registry.js';
import { isNested } from '../../core/rows/column-type.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import {
  identifier,
  openPostgres,
  type PgTransaction,
  type Postgres,
  PostgresAway,
  PostgresRefused,
} from '../../postgres/index.js';
import { postgresAddressOf } from '../addresses.js';
import type { WarehousesOptions } from '../database.js';
import { selectAs, type TableColumn } from '../export/file-parts.js';
import { codeOf, refused } from '../postgres/errors.js';
import { identifier as duckDbName, literal, utcText } from '../shared/duckdb-quote.js';
import { postgresType } from '../shared/postgres-types.js';
import { cutName, viewColumns } from '../shared/view-columns.js';
import { publishToSql, type SqlTarget, type TableRows, type TargetTable } from './publish-sql.js';
import { type Drafted, draftsOf, parquetFiles, type StagedTable } from './stage-tables.js';

/** Tables are published into this schema, unless the address names another one. */
const DEFAULT_SCHEMA = 'public';
/** Time in ms that a database that cannot be reached is awaited. */
const PATIENCE_MS = 10_000;
/** Longest statement, in ms: a COPY or an INSERT of all rows. */
const STATEMENT_MS = 3_600_000;

/** The address of a target. Throws `WarehouseUnusable` for a text that is not an address. */
export const postgresTarget = (url: string) => postgresAddressOf(url, 'target', DEFAULT_SCHEMA);

/** Opens the database of a target with the user and password that are known for it, and checks that it accepts the login. */
export async function withPostgresTarget<T>(
  url: string,
  { credentialsFor, say }: WarehousesOptions,
  work: (postgres: Postgres) => Promise<T>,
): Promise<T> {
  const given = postgresTarget(url);
  const known = given.user === null && given.password === null ? credentialsFor?.(given.carried)?.reveal() : null;
  const address = known ? postgresTarget(known) : given;
  try {
    const options = { applicationName: 'searchflow publish', max: 1, patienceMs: PATIENCE_MS, say };
    const postgres = await openPostgres(address, options);
    try {
      await postgres.query('SELECT 1');
      return await work(postgres);
    } finally {
      await postgres.close();
    }
  } catch (error) {
    throw targetError(error, address.shown);
  }
}

function targetError(error: unknown, shown: string): unknown {
  if (error instanceof PostgresAway) return new WarehouseBusy('postgres-unreachable', error.message, null);
  const say = (code: ErrorCode, sentence: string) => new WarehouseUnusable(code, sentence, { cause: error });
  if (error instanceof PostgresRefused) return refused(error, '');
  const { message } = error as Error;
  const code = codeOf(error);
  if (/^53[12]00$/.test(code))
    return say('warehouse-full', `${shown} is out of space: free some and publish again. The target is unchanged`);
  if (code === '2BP01')
    return say(
      'publish-columns-differ',
      `A table in ${shown} has other columns, and views depend on it: drop those first`,
    );
  return code === '' ? error : say('publish-columns-differ', `${shown} refuses the rows (PostgreSQL: ${message})`);
}

/** Names that every table of PostgreSQL has taken for columns of its own. */
const systemColumns = ['tableoid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax'];

/**
 * A table as PostgreSQL names and types it. Names that PostgreSQL does not accept are cut or get a number. A column with values that its
 * type cannot hold, such as nanoseconds or dates before 4714-11-24 BC, is text.
 */
async function postgresTable(connection: DuckDBConnection, staged: StagedTable): Promise<TargetTable> {
  const { exact } = staged;
  const names = viewColumns(
    exact.map(({ name }) => name),
    [],
    cutName,
    systemColumns,
  ).own;
  const checks = exact.map(({ name, type }) => unfit(duckDbName(name), type));
  const asked = checks.map((check) => (check === null ? 'false' : `coalesce(bool_or(${check}), false)`));
  const found = await connection.runAndReadAll(`SELECT ${asked.join(', ')} FROM ${draftsOf(staged)}`);
  const [isText = []] = found.getRows();
  const columns = exact.map(({ type }, index) => ({
    name: names[index] as string,
    type: isText[index] === true ? 'text' : isNested(type) ? 'jsonb' : postgresType(type),
  }));
  return { staged, name: cutName(staged.name, ''), columns };
}

const isMoment = (type: string) => /^(DATE|TIMESTAMP)/.test(type) && !isNested(type);

/** Condition: PostgreSQL's type cannot hold the value. */
function unfit(column: string, type: string): string | null {
  if (type === 'TIMESTAMP_NS') return `epoch_ns(${column}) % 1000 <> 0`;
  if (!isMoment(type)) return null;
  const last = type === 'DATE' ? ` OR ${column} > DATE '5874897-12-31'` : '';
  return `isfinite(${column}) AND (${column} < CAST('4714-11-24 (BC)' AS ${type})${last})`;
}

/** PostgreSQL's text of a value. A text in PostgreSQL cannot hold NUL: its six visible characters replace it, as in a warehouse. */
function textOf(column: string, { type }: TableColumn, into: string): string {
  const text = type === 'TIMESTAMP WITH TIME ZONE' ? utcText(column) : `CAST(${column} AS VARCHAR)`;
  if (into === 'jsonb') return jsonOf(column, type);
  if (into === 'bytea') return `'\\x' || hex(${column})`;
  if (type === 'VARCHAR') return `replace(${column}, chr(0), '\\u0000')`;
  return isMoment(type) && into !== 'text' ? `replace(${text}, '(BC)', 'BC')` : text;
}

/** JSON of a list, struct or map. The numbers of a value with NaN or an infinity are texts, because JSON has no such numbers. */
function jsonOf(column: string, type: string): string {
  const json = (value: string) => `CAST(to_json(${value}) AS VARCHAR)`;
  const texts = type.replace(/"(?:[^"]|"")*"|\b(?:DOUBLE|FLOAT)(?=[[\],)])/g, (found) =>
    found.startsWith('"') ? found : 'VARCHAR',
  );
  const plain =
    texts === type
      ? json(column)
      : `CASE WHEN regexp_matches(${json(column)}, '[\\[:,]-?(NaN|Infinity)[\\],}]') THEN ${json(`CAST(${column} AS ${texts})`)} ELSE ${json(column)} END`;
  // Two backslashes are one in the text, so they do not begin an escape of NUL.
  const marked = `replace(replace(${plain}, '\\\\', chr(1)), '\\u0000', chr(1) || 'u0000')`;
  return `replace(${marked}, chr(1), '\\\\')`;
}

/** Publishes in a transaction, which is repeated after a lost connection, also if the answer to its COMMIT was lost. */
export async function publishToPostgres(
  postgres: Postgres,
  drafted: Drafted,
  say: (sentence: string) => void,
): Promise<readonly TableRows[] | null> {
  const tables: TargetTable[] = [];
  for (const table of drafted.tables) tables.push(await postgresTable(drafted.connection, table));
  const renamed = tables.flatMap(({ staged: { exact }, columns }) =>
    columns.flatMap(({ name }, index) => (name === exact[index]?.name ? [] : [`${exact[index]?.name} as ${name}`])),
  );
  if (renamed.length > 0) say(`PostgreSQL does not accept some names of columns: ${renamed.join(', ')}.`);
  return postgres.transaction(
    async (tx) => {
      await beginTarget(tx, postgres);
      return publishToSql(sqlTarget(postgres, tx, drafted), tables, drafted);
    },
    { statementMs: STATEMENT_MS },
  );
}

function sqlTarget(
  { address: { shown, schema } }: Postgres,
  tx: PgTransaction,
  { connection, drafts }: Drafted,
): SqlTarget {
  return {
    shown,
    query: (sql, values = []) => tx.query(sql, values),
    within: (name) => `${identifier(schema)}.${identifier(name)}`,
    async columnsOf(name) {
      const columns = await tx.query<TableColumn>(
        `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum`,
        [schema, name],
      );
      return columns.length > 0 ? columns : null;
    },
    async add({ staged, columns }, to) {
      const { from } = await import('pg-copy-streams');
      const piece = join(drafts, 'rows.csv');
      const list = columns.map(({ name }) => identifier(name)).join(', ');
      const shown = staged.exact.map((column, index) =>
        textOf(duckDbName(column.name), column, columns[index]?.type ?? 'text'),
      );
      for (const { path, rows } of staged.files) {
        if (rows === 0) continue;
        const exact = selectAs(`SELECT * FROM ${parquetFiles([path])}`, staged.columns, staged.exact);
        await connection.run(
          `COPY (SELECT ${shown.join(', ')} FROM (${exact})) TO ${literal(piece)} (FORMAT csv, HEADER false, QUOTE '"', ESCAPE '"')`,
        );
        const copy = tx.client.query(from(`COPY ${to} (${list}) FROM STDIN (FORMAT csv)`));
        // A broken connection may emit a second error, when no handler is left.
        copy.on('error', () => undefined);
        await pipeline(createReadStream(piece), copy);
        await rm(piece);
      }
    },
  };
}

/** Waits until no other publish writes the schema, which is created if it is missing. */
async function beginTarget(tx: PgTransaction, { address: { schema } }: Postgres): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('searchflow publish ' || $1, 4))`, [schema]);
  const [present] = await tx.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (present === undefined) await tx.query(`CREATE SCHEMA ${identifier(schema)}`);
}
