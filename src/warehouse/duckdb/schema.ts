import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { baselineOf, MIGRATIONS_TABLE, migrationsComments } from '../../postgres/migrations-table.js';
import { agentRunTables } from '../agent-run-store.js';
import type { EventDialect, Field } from '../events/event-sql.js';
import { eventTables, makeEventTables } from '../events/event-tables.js';
import { monitorTables } from '../monitors/monitor-tables.js';
import { resultSql } from '../rows/duckdb-result-sql.js';
import { makeResultViews, type ResultDialect } from '../rows/result-relations.js';
import { makeRowTables, rowTables } from '../rows/row-tables.js';
import { inTransaction } from '../shared/in-transaction.js';
import { createTables, differences, type FoundColumn, type RelationColumn } from '../shared/relation.js';
import { shortIdSql } from '../shared/short-id.js';
import { typedValue } from '../shared/typed-value.js';
import { duckDbRowDialect } from './row-dialect.js';
import { duckDbSql, duckDbTables, jsonPath } from './sql-dialect.js';
import { sqlTransaction } from './sql-transaction.js';

/** The statements for events in DuckDB's SQL. */
export const duckDbDialect: EventDialect = {
  ...duckDbSql,
  checksIdsFirst: false,
  moreEventColumns: [],
  id: (text) => shortIdSql(text, `sha256(${text})`),
  time: (text) => typedValue(text, 'time'),
  withFields: (from, fields) =>
    // One expression reads all fields, because a separate expression for each field would parse the object again.
    `SELECT * EXCLUDE (facts), ${fields.map((field, index) => `${typed(field, `facts[${index + 1}]`)} AS ${field.name}`).join(', ')}
     FROM (SELECT *, json_extract_string(o, [${fields.map(({ path }) => `'${jsonPath(path)}'`).join(', ')}]) AS facts FROM ${from} s) t`,
  withMembers: (from, names) =>
    `SELECT * EXCLUDE (members), ${names.map((name, index) => `members[${index + 1}] AS ${name}`).join(', ')}
     FROM (SELECT *, json_extract(data, [${names.map((name) => `'${jsonPath([name])}'`).join(', ')}]) AS members FROM ${from} s) t`,
  withObjects: (from, path) => {
    if (path.length === 0) return `SELECT *, data AS o FROM ${from} s`;
    return path.includes('*')
      ? `SELECT *, unnest(json_extract(data, '${jsonPath(path)}')) AS o FROM ${from} s`
      : `SELECT *, json_extract(data, '${jsonPath(path)}') AS o FROM ${from} s`;
  },
  // `max` compares structs field by field. A window function would take twice as long.
  newest: (from) =>
    `SELECT id, v.o AS o, v.version_at AS version_at, v.event_at AS event_at, v.list_order AS list_order, v.event_id AS event_id, deleted_at FROM (
       SELECT id, max({'version_at': version_at, 'event_at': event_at, 'list_order': list_order, 'event_id': event_id, 'o': o}) AS v,
         min(deleted_at) AS deleted_at FROM ${from} s GROUP BY id) r`,
  digest: (json) => `hash(${json})`,
};

function typed({ type }: Field, text: string): string {
  if (type === 'id') return duckDbDialect.id(text);
  return type === 'text' ? text : typedValue(text, type);
}

/** All tables of a file. Anti-join and append is faster than keys, so only small tables have keys. */
export const tables = [...rowTables(false), ...eventTables(duckDbDialect), ...monitorTables, ...agentRunTables];

const compressed = { ...duckDbTables, suffix: compressionOf };

/** Statements that create all tables and views of the newest version in an empty file. */
export const createSchema = (): string =>
  [
    makeRowTables(duckDbRowDialect, compressed),
    makeEventTables(duckDbDialect, compressed),
    createTables(monitorTables, duckDbTables),
    createTables(agentRunTables, duckDbTables),
    makeResultViews(duckDbResults),
  ].join('\n');

/** One step of the schema since the first release. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  readonly sql: string;
}

/** All steps since the first release, in order. Append only. */
export const migrations: readonly Migration[] = [];

/**
 * Compression of text columns by name. DuckDB's own trials took a tenth of the CPU of loads of events and a third of rows, and without zstd
 * files were three times as large.
 */
export const compressions: Readonly<Record<string, readonly string[]>> = {
  zstd: ['data', 'extra', 'response'],
  // Nearly every row has a different value in these columns.
  uncompressed: ['id', 'event_id', 'object_id', 'item_id', 'external_id', 'url', 'row_hash', 'unit_key'],
  // Many rows have the same value in these columns.
  dictionary: [
    ...['type', 'payload', 'origin', 'webset_id', 'source_id', 'enrichment_id', 'monitor_id'],
    ...['job', 'generation', 'error_tag', 'request_id'],
    ...['status', 'source', 'format', 'entity_type', 'behavior', 'cron', 'timezone'],
  ],
};

/** Returns the suffix of a column's type in CREATE TABLE; empty where DuckDB chooses the compression. */
function compressionOf({ name }: RelationColumn): string {
  const method = Object.keys(compressions).find((one) => compressions[one]?.includes(name));
  return method ? ` USING COMPRESSION '${method}'` : '';
}

/** The views of results in DuckDB's SQL. */
const duckDbResults: ResultDialect = {
  prefix: '',
  read(from, columns) {
    const { inner, shown } = resultSql(columns, false);
    return { from: `(SELECT ${['*', ...inner].join(', ')} FROM (${from}) e)`, shown };
  },
  elements(from, o, path, item, position, outer) {
    const list = `json_extract(${o}, '$.${path.join('.')}[*]')`;
    const whole = outer ? `CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END` : list;
    const numbers = outer
      ? `CASE WHEN len(${list}) > 0 THEN range(1, len(${list}) + 1) ELSE [NULL] END`
      : `range(1, len(${list}) + 1)`;
    return `SELECT *, unnest(${whole}) AS ${item}, unnest(${numbers}) AS ${position} FROM (${from}) s`;
  },
};

const BASELINE = baselineOf('warehouse');

/**
 * Brings the warehouse to the newest schema, and checks it: creates all tables in a new file, and runs the steps that an existing file lacks,
 * each in one transaction. Throws as `missingSteps` and `checkSchema` do.
 */
export async function migrate(connection: DuckDBConnection, file: string): Promise<void> {
  const steps = await missingSteps(connection, file);
  // The file has one writer at a time, so no other process migrates the file meanwhile.
  if (steps === null) await inTransaction(connection, () => create(connection));
  for (const step of steps ?? []) {
    await inTransaction(connection, async () => {
      await connection.run(step.sql);
      await record(connection, step);
    });
  }
  await checkSchema(connection, file);
}

/** Throws `WarehouseUnusable` with all changes of the tables. */
async function checkSchema(connection: DuckDBConnection, file: string): Promise<void> {
  const found = await sqlTransaction(connection, duckDbSql).rows<FoundColumn>(
    `SELECT table_name AS "table", column_name AS "column", data_type AS type,
       NOT is_nullable AND column_default IS NULL AS demanding
     FROM duckdb_columns() WHERE schema_name = 'main' AND database_name = current_database()`,
  );
  const wrong = differences(tables, duckDbSql.types, found);
  if (wrong.length === 0) return;
  throw new WarehouseUnusable(
    'warehouse-changed',
    `The tables in ${file} were changed: ${wrong.join('; ')}. Undo that, or load into another file`,
  );
}

/**
 * The steps that a file lacks; null if the file has no warehouse yet. Throws `WarehouseUnusable` for a file of a newer version or of another
 * program.
 */
export async function missingSteps(connection: DuckDBConnection, file: string): Promise<readonly Migration[] | null> {
  const done = await applied(connection);
  if (done === null) return null;
  if (!done.includes(BASELINE)) {
    throw new WarehouseUnusable(
      'schema-of-another-version',
      `${file} was not created by this version of searchflow. Load into another file`,
    );
  }
  const strange = done.filter((name) => name !== BASELINE && !migrations.some((step) => step.name === name));
  if (strange.length > 0) {
    throw new WarehouseUnusable(
      'schema-of-another-version',
      `${file} was created by a newer version of searchflow (it has ${strange.join(', ')}): update searchflow, or load into another file`,
    );
  }
  return migrations.filter(({ name }) => !done.includes(name));
}

/** The names of the steps that were applied; null if the file has no warehouse yet. */
async function applied(connection: DuckDBConnection): Promise<string[] | null> {
  const tables = await connection.runAndReadAll(
    `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'main' AND database_name = current_database() AND table_name = '${MIGRATIONS_TABLE}'`,
  );
  if (tables.currentRowCount === 0) return null;
  const names = await connection.runAndReadAll(`SELECT name FROM ${MIGRATIONS_TABLE} ORDER BY name`);
  return names.getRowsJson().map((row) => String(row[0]));
}

async function create(connection: DuckDBConnection): Promise<void> {
  await connection.run(
    `CREATE TABLE ${MIGRATIONS_TABLE} (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP NOT NULL);
    ${migrationsComments()}
    ${createSchema()}`,
  );
  for (const step of [{ name: BASELINE }, ...migrations]) await record(connection, step);
}

async function record(connection: DuckDBConnection, { name }: Pick<Migration, 'name'>): Promise<void> {
  await connection.run(`INSERT INTO ${MIGRATIONS_TABLE} VALUES ($name, make_timestamp_ms($now::BIGINT))`, {
    name,
    now: BigInt(Date.now()),
  });
}
