import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { loadDuckDb } from '../shared/load-duckdb.js';
import type { SqlDialect, SqlTransaction, SqlValue } from '../shared/sql.js';

/** Runs statements over a connection. Large integers come as `bigint`, so a statement casts its columns to the types of `Row`. */
export function sqlTransaction<Dialect extends SqlDialect>(
  connection: DuckDBConnection,
  dialect: Dialect,
): SqlTransaction<Dialect> {
  const run: SqlTransaction['run'] = async (sql, values) => {
    await (values ? withPrepared(connection, sql, values, (one) => one.run()) : connection.run(sql));
  };
  return {
    dialect,
    run,
    createTemp: (name, query, values) => run(`CREATE TEMP TABLE ${name} AS ${query}`, values),
    async rows<Row extends object>(sql: string, values?: readonly SqlValue[]) {
      const reader = await (values
        ? withPrepared(connection, sql, values, (one) => one.runAndReadAll())
        : connection.runAndReadAll(sql));
      return reader.getRowObjectsJS() as Row[];
    },
  };
}

/**
 * Runs prepared statements. Without preparation, the connection would first split the text into statements on another thread, and each
 * switch of threads waits for a free thread.
 */
async function withPrepared<T>(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlValue[],
  work: (statement: DuckDBPreparedStatement) => Promise<T>,
): Promise<T> {
  const { LIST, listValue, VARCHAR } = await loadDuckDb();
  const statement = await connection.prepare(sql);
  try {
    for (const [index, value] of values.entries()) {
      const at = index + 1;
      if (value === null) statement.bindNull(at);
      else if (typeof value === 'string') statement.bindVarchar(at, value);
      else if (typeof value === 'boolean') statement.bindBoolean(at, value);
      else if (typeof value !== 'number') statement.bindList(at, listValue([...value]), LIST(VARCHAR));
      else if (Number.isSafeInteger(value)) statement.bindBigInt(at, BigInt(value));
      else statement.bindDouble(at, value);
    }
    return await work(statement);
  } finally {
    statement.destroySync();
  }
}
