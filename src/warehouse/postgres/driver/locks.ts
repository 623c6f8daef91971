import type { PgTransaction } from '../../../postgres/index.js';

/** A number for the job, and for a slice of it. */
const ofJob = `hashtextextended(current_schema() || ' ' || $1, 1)`;
const ofSlice = `hashtextextended(current_schema() || ' ' || $1 || ' ' || $2::text, 2)`;

/**
 * For a load, until its transaction ends: a second attempt at the slice waits, then finds the first one's line in the ledger, and
 * nobody moves the rows of the job meanwhile.
 */
export async function lockSlice(tx: PgTransaction, job: string, slice: number): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${ofJob}), pg_advisory_xact_lock(${ofSlice})`, [job, slice]);
}

/** For whoever moves the rows of a job: no load goes on meanwhile. */
export async function lockJob(tx: PgTransaction, job: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${ofJob})`, [job]);
}

/** For whoever chooses a name in the schema. */
export async function lockNames(tx: PgTransaction): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 3))`);
}
