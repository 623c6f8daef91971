import type { PgTransaction } from '../../postgres/index.js';
import type { SqlTransaction, SqlValue } from '../shared/sql.js';

/** Runs statements in a transaction. Integers of 64 bits come as texts, so a statement casts its columns to the types of `Row`. */
export function sqlTransaction(tx: PgTransaction): SqlTransaction {
  return {
    async run(sql, values) {
      await tx.query(sql, values);
    },
    rows: <Row extends object>(sql: string, values?: readonly SqlValue[]) => tx.query<Row>(sql, values),
  };
}
