import type { JobEntry } from '../../core/job-entry-schemas.js';
import type { StagedJob } from '../../core/rows/job.js';
import { jobRecord } from '../../core/rows/job-record.js';
import { schemaChanges, schemaChangesText } from '../../core/rows/schema-changes.js';
import { schemaOf } from '../../warehouse/index.js';

/** Returns a note about columns that differ from those of the job's last run. */
export function schemaNotes(staged: StagedJob, before: JobEntry | null): string[] {
  if (before === null || before.staged.operation !== staged.operation) return [];
  const changes = schemaChanges(schemaOf(jobRecord(before.staged)), schemaOf(jobRecord(staged)));
  return changes.length === 0 ? [] : [`The schema differs from that of the last run: ${schemaChangesText(changes)}.`];
}
