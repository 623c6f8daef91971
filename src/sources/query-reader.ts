import { statSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { UNORDERED } from '../core/rows/source-fields.js';
import { fileKind } from '../files/file-kind.js';
import { handlesOn } from '../files/open-path.js';
import { CsvError, InputUnsteady, quoted, type RowReader } from '../rows/index.js';
import { identifier, literal } from '../warehouse/index.js';
import { duckDbReader, firstLine, resourceError } from './duckdb-reader.js';
import { pin } from './named-files.js';
import type { SourceRequest } from './source-request.js';

/** Time in ms for which a reader waits while another process has the file open for writing. */
const BUSY_MS = 10_000;
const POLL_MS = 200;
const SHOWN_TABLES = 10;
const isBusy = (error: unknown) => /Could not set lock|Conflicting lock|used by another process/i.test(String(error));

/** Returns a reader of a table, a view or a query of a DuckDB file. DuckDB opens the file for reading only and no other file. */
export function queryReader(request: SourceRequest): RowReader {
  const { input, checkFiles, sql, table = '', isKeyed = false, limitMs = Number.POSITIVE_INFINITY } = request;
  return {
    async open() {
      const pinned = checkFiles === undefined ? null : await pin(input, checkFiles);
      const file = pinned?.opened ?? input;
      const release = async () => pinned?.handle.close();
      try {
        checkFile(file);
        const opened = await duckDbReader(request, {
          async prepare(connection) {
            const isOrdered = sql === undefined || (await isOrderedSelect(connection, sql)) || isKeyed;
            const before = pinned && handlesOn(pinned.handle.fd);
            await attach(connection, file, Math.min(BUSY_MS, limitMs / 2));
            // A handle of an earlier reader may close meanwhile.
            if (pinned && before !== null && (handlesOn(pinned.handle.fd) ?? 0) <= before)
              throw new InputUnsteady('input-changed', `${file} was replaced while it was opened; try again`);
            const query = await (sql === undefined ? tableQuery(connection, file, table) : viewQuery(connection, sql));
            return { query, notes: isOrdered ? [] : [UNORDERED] };
          },
          explain: (error) => explained(error, file, sql !== undefined),
          bytes: null,
        }).open();
        return { ...opened, close: () => opened.close().finally(release) };
      } catch (error) {
        await release();
        throw error;
      }
    },
  };
}

function checkFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new CsvError('input-missing', `${file} does not exist`);
  if (statSync(file).isDirectory())
    throw new CsvError('source-options-wrong', `${file} is a folder, and --sql and --table need a DuckDB file`);
  const kind = fileKind(file);
  if (kind !== 'DuckDB database')
    throw new CsvError(
      'input-wrong-format',
      `${file} is ${kind === null ? 'not a DuckDB file' : `a ${kind}, not a DuckDB file`}: --sql and --table need one`,
    );
}

/** Attaches the file for reading. From then on DuckDB opens no other file, and its settings cannot be changed. */
async function attach(connection: DuckDBConnection, file: string, waitMs: number): Promise<void> {
  const stem = basename(file, extname(file));
  const name = identifier(/^(memory|system|temp|main|)$/i.test(stem) ? 'source' : stem);
  for (const until = performance.now() + waitMs; ; await delay(POLL_MS)) {
    try {
      await connection.run(`ATTACH ${literal(file)} AS ${name} (READ_ONLY)`);
      break;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
    }
  }
  await connection.run(`USE ${name}`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
}

async function viewQuery(connection: DuckDBConnection, sql: string): Promise<string> {
  await connection.run(`CREATE TEMP VIEW searchflow_input AS ${sql}`);
  return 'SELECT * FROM temp.searchflow_input';
}

async function tableQuery(connection: DuckDBConnection, file: string, table: string): Promise<string> {
  const found = await connection.runAndReadAll(
    `SELECT schema_name, table_name FROM (
       SELECT schema_name, table_name, database_name FROM duckdb_tables() UNION ALL
       SELECT schema_name, view_name, database_name FROM duckdb_views() WHERE NOT internal)
     WHERE database_name = current_database() ORDER BY ALL`,
  );
  const all = found.getRows().map(([schema, name]) => ({ schema: String(schema), name: String(name) }));
  const isMeant = ({ schema, name }: { schema: string; name: string }) =>
    name === table || `${schema}.${name}` === table;
  const named = all.filter(isMeant);
  const one = named.find(({ schema }) => schema === 'main') ?? named[0];
  if (one !== undefined) return `SELECT * FROM ${identifier(one.schema)}.${identifier(one.name)}`;
  const names = all.slice(0, SHOWN_TABLES).map(({ schema, name }) => (schema === 'main' ? name : `${schema}.${name}`));
  const more = all.length > SHOWN_TABLES ? ` and ${all.length - SHOWN_TABLES} more` : '';
  throw new CsvError(
    'source-table-unknown',
    `${file} has no table or view ${quoted(table)}${all.length === 0 ? '' : `; it has ${names.join(', ')}${more}`}`,
  );
}

function explained(error: unknown, file: string, isSql: boolean): unknown {
  if (error instanceof CsvError) return error;
  const resource = resourceError(error);
  if (resource !== null) return resource;
  if (isBusy(error)) {
    const pid = /\(PID (\d+)\)/.exec(String(error))?.[1];
    return new InputUnsteady(
      'source-in-use',
      `${file} is open for writing in ${pid === undefined ? 'another process' : `process ${pid}`}: close it there, or copy the file and name the copy`,
    );
  }
  const message = String(error);
  if (/disabled (through|by) configuration|is disabled|Permission Error/i.test(message))
    return new CsvError(
      'sql-not-allowed',
      `The SQL may read only tables and views of ${file}, and no files or other databases (${firstLine(error)})`,
    );
  return new CsvError(
    isSql ? 'sql-failed' : 'input-damaged',
    `${isSql ? 'The SQL fails' : `${file} cannot be read`}: ${firstLine(error)}`,
  );
}

/** The facts of a statement, as DuckDB parses it. */
interface Parsed {
  readonly error: boolean;
  readonly error_type?: string;
  readonly error_message?: string;
  readonly statements?: readonly {
    readonly node: { readonly type: string; readonly modifiers?: readonly { readonly type: string }[] };
  }[];
}

/** Returns whether the rows of a SELECT statement are ordered. Throws `CsvError`, one sentence, for a text that is not one SELECT. */
async function isOrderedSelect(connection: DuckDBConnection, sql: string): Promise<boolean> {
  const result = await connection.runAndReadAll('SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)', [
    sql,
  ]);
  const { error, error_type, error_message, statements = [] } = JSON.parse(String(result.getRows()[0]?.[0])) as Parsed;
  if (error && error_type === 'parser') throw new CsvError('sql-invalid', `The SQL is not valid: ${error_message}`);
  if (error)
    throw new CsvError(
      'sql-not-allowed',
      'The SQL must be one SELECT: it may read tables and views, and change nothing',
    );
  if (statements.length !== 1) {
    const found = statements.length === 0 ? 'no statement' : `${statements.length} statements`;
    throw new CsvError('sql-not-allowed', `The SQL must be one SELECT, and it has ${found}`);
  }
  return statements[0]?.node.modifiers?.some(({ type }) => type === 'ORDER_MODIFIER') ?? false;
}
