import type { PgTransaction } from '../../postgres/index.js';
import type { RowDialect, RowTransaction } from '../rows/row-sql.js';
import type { SqlTransaction, SqlValue } from '../shared/sql.js';
import { copyLines, makeLineTables, stagedRows, unitRecords } from './copy-lines.js';

/** Time limit of a statement in a transaction that changes row numbers, which takes longer than any load of a slice. */
const RENUMBER_MS = 3_600_000;

/** A transaction for rows. The lines of files are copied into temporary tables, and the server parses the lines. */
export function rowTransaction(tx: PgTransaction, dialect: RowDialect): RowTransaction {
  let hasLines = false;
  let tables: Promise<void> | null = null;
  const ready = () => {
    tables ??= makeLineTables(tx);
    return tables;
  };
  return {
    ...sqlTransaction(tx),
    dialect,
    async lock(lock) {
      if (lock === 'names') return lockNames(tx);
      if (lock.slice !== undefined) return lockSlice(tx, lock.job, lock.slice);
      await lockJob(tx, lock.job);
      await tx.allow(RENUMBER_MS);
    },
    async readRows(files, _cells, work) {
      await ready();
      for (const [slice, file] of files.entries()) {
        if (hasLines) await tx.query('TRUNCATE row_lines');
        hasLines = true;
        await copyLines(tx, 'row_lines', file);
        await work(stagedRows(slice));
      }
    },
    async readUnits(files, careful, work) {
      await ready();
      await tx.query('SAVEPOINT units');
      try {
        for (const file of files) await copyLines(tx, 'unit_lines', file, careful);
        if (await work(unitRecords)) return true;
      } catch (error) {
        // The defect (SQLSTATE class 22) may be in a line that this slice does not need, so the caller reads the files with care.
        if (careful || !/^22/.test(String((error as { code?: unknown }).code))) throw error;
      }
      await tx.query('ROLLBACK TO SAVEPOINT units');
      return false;
    },
  };
}

/** Lock numbers of the job, and of a slice of the job. */
const ofJob = `hashtextextended(current_schema() || ' ' || $1, 1)`;
const ofSlice = `hashtextextended(current_schema() || ' ' || $1 || ' ' || $2::text, 2)`;

/**
 * Locks a slice, and the row numbers of its job, until the transaction ends. A second attempt at the slice waits, then finds the
 * ledger line of the first attempt. Loads of other slices are not blocked.
 */
async function lockSlice(tx: PgTransaction, job: string, slice: number): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${ofJob}), pg_advisory_xact_lock(${ofSlice})`, [job, slice]);
}

/** Locks a job for a change of its row numbers. No load of the job runs at the same time. */
async function lockJob(tx: PgTransaction, job: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${ofJob})`, [job]);
}

/** Locks the schema while a name is chosen. */
async function lockNames(tx: PgTransaction): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 3))`);
}

/** Runs statements in a transaction. Integers of 64 bits come as texts, so a statement casts its columns to the types of `Row`. */
export function sqlTransaction(tx: PgTransaction): SqlTransaction {
  return {
    async run(sql, values) {
      await tx.query(sql, values);
    },
    rows: <Row extends object>(sql: string, values?: readonly SqlValue[]) => tx.query<Row>(sql, values),
  };
}
