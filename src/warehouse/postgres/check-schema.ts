import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { missingRights, type Postgres } from '../../postgres/index.js';
import { rowTables } from '../rows/row-tables.js';
import { differences, type FoundColumn } from '../shared/relation.js';
import { tables } from './schema.js';
import { postgresSql } from './sql-dialect.js';

const names = tables.map(({ name }) => name);
/** The tables whose rights are checked. A user that only loads rows needs no rights on the tables of events and monitors. */
export const rowTableNames = rowTables(true).map(({ name }) => name);

/**
 * Checks tables, rights and encoding before anything is bought for them. Throws `WarehouseUnusable` with the list of all mistakes.
 */
export async function checkSchema(postgres: Postgres, shown: string): Promise<void> {
  const { schema } = postgres.address;
  const columns = await postgres.query<FoundColumn>(
    `SELECT c.relname AS table, a.attname AS column,
       replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') AS type,
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS demanding
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = $1 AND c.relname = ANY($2)`,
    [schema, names],
  );
  const wrong = differences(tables, postgresSql.types, columns);
  if (wrong.length > 0) {
    throw new WarehouseUnusable(
      'warehouse-changed',
      `The tables in ${shown} were changed: ${wrong.join('; ')}. Undo that, or load into another schema (?schema=name)`,
    );
  }
  const missing = await missingRights(postgres, schema, rowTableNames);
  if (missing.length > 0) {
    throw new WarehouseUnusable(
      'postgres-rights-missing',
      `The user of ${shown} needs ${missing.join(', ')}: ask its owner to grant it`,
    );
  }
  const [server] = await postgres.query<{ encoding: string }>(`SELECT current_setting('server_encoding') AS encoding`);
  if (server?.encoding !== 'UTF8') {
    throw new WarehouseUnusable(
      'postgres-unsuitable',
      `${shown} has the encoding ${server?.encoding}, which cannot hold every page: create a database with UTF8`,
    );
  }
}
