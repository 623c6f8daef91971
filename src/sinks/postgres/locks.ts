import type { PgTransaction } from '../../postgres/index.js';

/** A lock on a job until the transaction ends: `shared` for a load, `alone` for whoever moves its rows. */
export async function lockJob(tx: PgTransaction, job: string, how: 'shared' | 'alone'): Promise<void> {
  const lock = how === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
  await tx.query(`SELECT ${lock}(hashtextextended(current_schema() || ' ' || $1, 1))`, [job]);
}

/** A lock on one slice: a second attempt waits, then finds the first one's line in the ledger. */
export async function lockSlice(tx: PgTransaction, job: string, slice: number): Promise<void> {
  await tx.query(
    `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1 || ' ' || $2::text, 2))`,
    [job, slice],
  );
}

/** A lock on the names of the schema, for whoever chooses one. */
export async function lockNames(tx: PgTransaction): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 3))`);
}
