import type { PgTransaction } from '../../../postgres/index.js';

/** Lock numbers of the job, and of a slice of the job. */
const ofJob = `hashtextextended(current_schema() || ' ' || $1, 1)`;
const ofSlice = `hashtextextended(current_schema() || ' ' || $1 || ' ' || $2::text, 2)`;

/**
 * Locks a slice, and the row numbers of its job, until the transaction ends. A second attempt at the slice waits, then finds the
 * ledger line of the first attempt. Loads of other slices are not blocked.
 */
export async function lockSlice(tx: PgTransaction, job: string, slice: number): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${ofJob}), pg_advisory_xact_lock(${ofSlice})`, [job, slice]);
}

/** Locks a job for a change of its row numbers. No load of the job runs at the same time. */
export async function lockJob(tx: PgTransaction, job: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${ofJob})`, [job]);
}

/** Locks the schema while a name is chosen. */
export async function lockNames(tx: PgTransaction): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 3))`);
}
