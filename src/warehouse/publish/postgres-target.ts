import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PublishRecord, PublishRequest } from '../../core/publish/publish-request.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import {
  identifier,
  openPostgres,
  type PgTransaction,
  type Postgres,
  PostgresAway,
  PostgresRefused,
  parseAddress,
} from '../../postgres/index.js';
import { cutName } from '../shared/cut-name.js';
import { identifier as duckDbName, literal } from '../shared/duckdb-quote.js';
import { viewColumns } from '../shared/view-columns.js';
import type { TableRows } from './database-target.js';
import { checkUnique, parquetFiles, rowsDiffer, sameKey } from './merge-rows.js';
import {
  isAppended,
  isRecreated,
  type LatestPublish,
  PUBLISHES,
  publishesColumns,
  publishValues,
  type TargetTable,
} from './plan-rows.js';
import { contentOf } from './plan-table.js';
import type { Staged, StagedTable, TableColumn } from './stage-tables.js';

/** Tables are published into this schema, unless the address names another one. */
const DEFAULT_SCHEMA = 'public';
/** Time in ms for which a database that cannot be reached is awaited. */
const PATIENCE_MS = 10_000;
/** Longest statement, in ms: an INSERT of all rows. */
const STATEMENT_MS = 3_600_000;

/** The address of a target without credentials, for messages. Throws `WarehouseUnusable` for a text that is not an address. */
export function postgresTarget(url: string) {
  try {
    return parseAddress(url, DEFAULT_SCHEMA);
  } catch (error) {
    throw new WarehouseUnusable(
      'postgres-address-invalid',
      `The address of the target ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Opens the database of a target, and checks that it accepts the login. */
export async function withPostgresTarget<T>(
  url: string,
  say: (sentence: string) => void,
  work: (postgres: Postgres) => Promise<T>,
): Promise<T> {
  const address = postgresTarget(url);
  try {
    const postgres = await openPostgres(address, {
      ...{ applicationName: 'searchflow publish', max: 1, patienceMs: PATIENCE_MS, say },
    });
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
  if (error instanceof PostgresRefused) {
    const way = /^(28|3D)/.test(error.code ?? '')
      ? 'check the address, and user and password (in the address, PGUSER and PGPASSWORD, or .pgpass)'
      : 'ask its owner for the missing rights';
    return new WarehouseUnusable(error.errorCode, `${error.message}: ${way}`, { cause: error });
  }
  const { code = '', message } = error as { code?: string; message: string };
  if (/^53[12]00$/.test(code))
    return new WarehouseUnusable(
      'warehouse-full',
      `${shown} is out of space: free some and publish again. The target is unchanged`,
      {
        cause: error,
      },
    );
  if (code === '2BP01')
    return new WarehouseUnusable(
      'publish-columns-differ',
      `A table in ${shown} has other columns, and views depend on it: drop those first`,
      {
        cause: error,
      },
    );
  if (code !== '')
    return new WarehouseUnusable('publish-columns-differ', `${shown} refuses the rows (PostgreSQL: ${message})`, {
      cause: error,
    });
  return error;
}

/** A publish into a schema. */
export interface PostgresPublish {
  readonly postgres: Postgres;
  readonly staged: Staged;
  readonly request: PublishRequest;
  readonly record: PublishRecord;
  /** A DuckDB that reads the drafts. */
  readonly connection: DuckDBConnection;
  readonly drafts: string;
}

/** Changes all tables in one transaction. Returns the rows of each table then, or null if nothing had to be written. */
export async function publishToPostgres(publish: PostgresPublish): Promise<readonly TableRows[] | null> {
  const { postgres, staged, request, connection } = publish;
  if (request.mode === 'merge') for (const table of staged.tables) await checkUnique(connection, table, request.key);
  // The transaction is repeated after a lost connection, also if the answer to its COMMIT was lost.
  return postgres.transaction((tx) => changeTables(tx, publish), { statementMs: STATEMENT_MS });
}

async function changeTables(tx: PgTransaction, publish: PostgresPublish): Promise<readonly TableRows[] | null> {
  const { postgres, staged, request, record } = publish;
  const { shown, schema } = postgres.address;
  const within = (name: string) => `${identifier(schema)}.${identifier(name)}`;
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('searchflow publish ' || $1, 4))`, [schema]);
  const [present] = await tx.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (present === undefined) await tx.query(`CREATE SCHEMA ${identifier(schema)}`);
  await tx.query(`CREATE TABLE IF NOT EXISTS ${within(PUBLISHES)} (${publishesColumns})`);
  const before = await tx.query<{ name: string; rows: string }>(
    `SELECT table_name AS name, total_rows AS rows FROM ${within(PUBLISHES)} WHERE publish = $1`,
    [record.id],
  );
  if (before.length > 0) return before.map(({ name, rows }) => ({ name, rows: Number(rows) }));
  const changes: TableChange[] = [];
  for (const table of staged.tables) {
    const name = cutName(table.name, '');
    const columns = postgresColumns(table.columns);
    const target = await targetTable(tx, schema, name, within(PUBLISHES));
    const isNew = isRecreated(target, { name, columns }, request, { shown, source: staged.source });
    changes.push({ table, name, columns, target, isNew });
  }
  const isSame = ({ table, target }: TableChange) => isAppended(target.latest, table, staged.source, record.run);
  if (request.mode === 'append' && changes.every(isSame)) return null;
  const changed: TableRows[] = [];
  for (const change of changes) {
    const rows = await changeTable(tx, change, within(change.name), publish);
    const facts = { source: staged.source, total: rows, content: contentOf(change.table), rows: change.table.rows };
    const values = publishValues(change.name, facts, record, request.key);
    const parameters = values.map((_, index) => `$${index + 1}`).join(', ');
    await tx.query(`INSERT INTO ${within(PUBLISHES)} VALUES (${parameters})`, values);
    changed.push({ name: change.table.name, rows });
  }
  return changed;
}

interface TableChange {
  readonly table: StagedTable;
  /** Name and columns in the target. */
  readonly name: string;
  readonly columns: readonly TableColumn[];
  readonly target: TargetTable;
  readonly isNew: boolean;
}

async function changeTable(
  tx: PgTransaction,
  { table, columns, target, isNew }: TableChange,
  name: string,
  { request: { mode, key }, connection, drafts }: PostgresPublish,
): Promise<number> {
  const definition = columns.map((column) => `${identifier(column.name)} ${column.type}`).join(', ');
  const list = columns.map((column) => identifier(column.name)).join(', ');
  if (isNew && target.columns !== null) await tx.query(`DROP TABLE ${name}`);
  if (isNew) await tx.query(`CREATE TABLE ${name} (${definition})`);
  // DELETE keeps the old rows visible for other transactions; TRUNCATE does not.
  else if (mode === 'replace') await tx.query(`DELETE FROM ${name}`);
  const merges = mode === 'merge' && !isNew;
  if (merges) await tx.query(`CREATE TEMP TABLE searchflow_new (${definition}) ON COMMIT DROP`);
  await copyRows(tx, merges ? 'pg_temp.searchflow_new' : name, list, { table, connection, drafts });
  if (merges) {
    await tx.query(
      `DELETE FROM ${name} old USING pg_temp.searchflow_new new WHERE ${sameKey(key)} AND (${rowsDiffer(columns)})`,
    );
    await tx.query(
      `INSERT INTO ${name} (${list}) SELECT ${list} FROM pg_temp.searchflow_new new
       WHERE NOT EXISTS (SELECT 1 FROM ${name} old WHERE ${sameKey(key)})`,
    );
    await tx.query('DROP TABLE pg_temp.searchflow_new');
  }
  const [counted] = await tx.query<{ rows: string }>(`SELECT count(*) AS rows FROM ${name}`);
  return Number(counted?.rows);
}

/** Copies the rows of drafts into a table, file by file. */
async function copyRows(
  tx: PgTransaction,
  into: string,
  list: string,
  { table, connection, drafts }: Pick<PostgresPublish, 'connection' | 'drafts'> & { readonly table: StagedTable },
): Promise<void> {
  const { from } = await import('pg-copy-streams');
  const piece = join(drafts, 'rows.csv');
  // A text in PostgreSQL cannot hold NUL: its six visible characters replace it, as in a warehouse.
  const shown = table.columns.map(({ name, type }) =>
    type === 'VARCHAR' ? `replace(${duckDbName(name)}, chr(0), '\\u0000')` : duckDbName(name),
  );
  for (const { path, rows } of table.files) {
    if (rows === 0) continue;
    await connection.run(
      `COPY (SELECT ${shown.join(', ')} FROM ${parquetFiles([path])}) TO ${literal(piece)} (FORMAT csv, HEADER false,
         QUOTE '"', ESCAPE '"', TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ')`,
    );
    const copy = tx.client.query(from(`COPY ${into} (${list}) FROM STDIN (FORMAT csv)`));
    // A broken connection may emit a second error, when no handler is left.
    copy.on('error', () => undefined);
    await pipeline(createReadStream(piece), copy);
    await rm(piece);
  }
}

/** The columns of a table in PostgreSQL. */
export function postgresColumns(columns: readonly TableColumn[]): readonly TableColumn[] {
  const names = viewColumns(
    columns.map(({ name }) => name),
    [],
    cutName,
  ).own;
  return columns.map(({ type }, index) => ({ name: names[index] as string, type: postgresType(type) }));
}

function postgresType(type: string): string {
  const [, precision] = /^DECIMAL(\(.*\))$/.exec(type) ?? [];
  return precision ? `numeric${precision}` : (types[type] ?? 'text');
}

const types: Readonly<Record<string, string>> = {
  ...{ VARCHAR: 'text', BIGINT: 'bigint', INTEGER: 'integer', DOUBLE: 'double precision', BOOLEAN: 'boolean' },
  ...{ TIMESTAMP: 'timestamp with time zone', DATE: 'date', UBIGINT: 'numeric(20,0)' },
};

async function targetTable(tx: PgTransaction, schema: string, name: string, publishes: string): Promise<TargetTable> {
  const [latest] = await tx.query<LatestPublish>(
    `SELECT publish, source, run, mode, content FROM ${publishes} WHERE table_name = $1 ORDER BY publish DESC LIMIT 1`,
    [name],
  );
  const columns = await tx.query<TableColumn>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum`,
    [schema, name],
  );
  return { latest: latest ?? null, columns: columns.length > 0 ? columns : null };
}
