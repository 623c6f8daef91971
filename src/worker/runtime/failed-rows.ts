import { costOf, sentCount, type UnitHistory, unknownMicros } from '../../core/purchase/attempts.js';
import { type RetryHelp, retryHelp } from '../../core/purchase/retry-help.js';
import type { StagedJob } from '../../core/rows/job.js';
import type { FailedFilter, FailedGroup, LoadedRow } from '../../core/rows/loaded-row.js';
import { findJob } from '../staging/find-job.js';
import type { RuntimeParts } from './runtime-parts.js';
import { readWarehouse } from './warehouse-read.js';

/** A failed row with what the journal knows about its unit. Amounts in micro-dollars. */
export interface FailedRow extends LoadedRow, RetryHelp {
  /** Number of requests for its unit. */
  readonly attempts: number;
  /** What these requests cost; `costIsWhole`: whether the cost of all of them is known. */
  readonly paidMicros: number;
  readonly costIsWhole: boolean;
  /** The most that requests without an answer may have cost. */
  readonly unknownMicros: number;
}

export interface FailedJob {
  readonly job: string;
  readonly into: string;
  /** The column of URLs; null: requests come from a template. */
  readonly unitColumn: string | null;
  readonly groups: readonly (FailedGroup & RetryHelp)[];
  readonly rows: readonly FailedRow[];
  /** Why the warehouse cannot be read now; null if it was read. */
  readonly problem: string | null;
}

const noHistory: UnitHistory = { attempts: [], landed: null };

/** The failed rows of a job, from its warehouse and the journal, without Temporal. */
export async function failedRowsOf(parts: RuntimeParts, name: string, filter: FailedFilter): Promise<FailedJob> {
  const { staged } = await findJob(parts.store.entries, name);
  const { job, into, unitColumn } = staged;
  const read = await readWarehouse(parts, () => parts.warehouses.of(staged).failedRows(job, filter));
  const { groups, rows } = read.value ?? { groups: [], rows: [] };
  const keys = rows.flatMap(({ key }) => key ?? []);
  const histories = await (await parts.store.journal()).history(keys, [job]);
  return {
    ...{ job, into, unitColumn, problem: read.problem },
    groups: groups.map((group) => ({ ...group, ...helpOf(staged, group, group.costMicros) })),
    rows: rows.map((row) => failedRow(staged, row, (row.key === null ? null : histories.get(row.key)) ?? noHistory)),
  };
}

function failedRow(staged: StagedJob, row: LoadedRow, history: UnitHistory): FailedRow {
  const { micros, isWhole } = costOf(history);
  const unknown = unknownMicros(history);
  return {
    ...row,
    ...helpOf(staged, row, micros + unknown),
    ...{ attempts: sentCount(history), paidMicros: micros, costIsWhole: isWhole, unknownMicros: unknown },
  };
}

/** Whether a retry of a failed row of the job can help. */
export function helpOf(
  { rowsPerRun }: Pick<StagedJob, 'rowsPerRun'>,
  { status, tag }: Pick<LoadedRow, 'status' | 'tag'>,
  paidMicros: number,
): RetryHelp {
  return retryHelp({ status: status === 'invalid' ? 'invalid' : 'error', tag, rowsPerRun, paidMicros });
}
