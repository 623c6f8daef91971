import type { StagedJob } from '../../core/rows/job.js';
import type { JobEntry } from '../../core/rows/job-entries.js';
import { jobRecord } from '../../core/rows/job-record.js';
import type { OnMisfit } from '../../core/rows/on-misfit.js';
import { JobNotLoaded, type RowWarehouse, WarehouseBusy } from '../../core/rows/row-warehouse.js';
import { schemaChanges, schemaChangesText } from '../../core/rows/schema-changes.js';
import { schemaOf } from '../../warehouse/index.js';

/** Returns notes about `--on-misfit`: that it has no effect, or how many rows are in quarantine. */
export async function misfitNotes(
  staged: StagedJob,
  onMisfit: OnMisfit | undefined,
  warehouse: Pick<RowWarehouse, 'misfitsOf' | 'summary'>,
): Promise<readonly string[]> {
  if (onMisfit === undefined || onMisfit === 'keep') return [];
  if (warehouse.misfitsOf(jobRecord(staged)) === null)
    return [
      `--on-misfit ${onMisfit} has no effect: this job has no column of numbers, integers, booleans, dates or times. Such columns come from a schema of the output.`,
    ];
  if (onMisfit !== 'quarantine') return [];
  const { quarantined = 0 } = await warehouse.summary(staged.job).catch((error: unknown) => {
    if (error instanceof JobNotLoaded || error instanceof WarehouseBusy) return { quarantined: 0 };
    throw error;
  });
  if (quarantined === 0) return [];
  return [`In quarantine now: ${quarantined} ${quarantined === 1 ? 'row' : 'rows'} (view quarantined_rows).`];
}

/** Returns a note about columns that differ from those of the job's last run. */
export function schemaNotes(staged: StagedJob, before: JobEntry | null): string[] {
  if (before === null || before.staged.operation !== staged.operation) return [];
  const changes = schemaChanges(schemaOf(jobRecord(before.staged)), schemaOf(jobRecord(staged)));
  return changes.length === 0 ? [] : [`The schema differs from that of the last run: ${schemaChangesText(changes)}.`];
}
