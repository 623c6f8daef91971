import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { isDatabaseSource } from '../../core/connections/source-address.js';
import { sentWith } from '../../core/purchase/sent-with.js';
import type { EnrichCsvInput, PublishStep } from '../../core/row-job-schemas.js';
import { boundsOf } from '../../core/rows/job.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { workflowNames } from '../../core/rows/job-names.js';
import type { ScheduledWork } from '../../core/workflow-input-schemas.js';
import { warehouseFile } from '../../warehouse/index.js';
import { isLocalTarget } from '../config/publish-step.js';
import { type JobPlan, UsageError, type WorkflowAccess } from '../config/runtime-types.js';

/** Any machine may end a run of a shared store. `anywhere`: the warehouse is no file of one machine. */
export function refuseLocalTarget(step: PublishStep | undefined, anywhere: boolean): void {
  if (step && anywhere && isLocalTarget(step.to))
    throw new UsageError(
      'schedule-unsupported',
      '--publish: with a shared store a run may end on any machine. Name a target that all machines reach, such as s3:// or postgres://.',
    );
}

/**
 * The work of a schedule of a job of rows. Each run stages the contents that the file has at its start, on a worker of this machine. Throws
 * `UsageError` for options that are for single runs only.
 */
export function rowsWork(plan: JobPlan, { config, shared }: Pick<WorkflowAccess, 'config' | 'shared'>): ScheduledWork {
  const { staged, request } = plan;
  if (request.input === '-')
    throw new UsageError(
      'schedule-unsupported',
      'A schedule needs a file, because each run reads its input again. Standard input can be read only once.',
    );
  if (request.reparse)
    throw new UsageError('schedule-unsupported', '--reparse cannot be scheduled. Run it as a single command.');
  if (request.rebuy)
    throw new UsageError(
      'schedule-unsupported',
      '--rebuy cannot be scheduled. To buy old answers again, use --refresh-after.',
    );
  if (request.limit !== undefined)
    throw new UsageError(
      'schedule-unsupported',
      '--limit cannot be scheduled. A schedule asks for all rows of its file.',
    );
  if (request.csv && shared && warehouseFile(staged.into) === null) {
    throw new UsageError(
      'schedule-unsupported',
      '--csv cannot be scheduled with a shared store, because a run may end on any machine. To write the file: searchflow export',
    );
  }
  refuseLocalTarget(request.publish, shared && warehouseFile(staged.into) === null);
  const { rebuy: _rebuy, reparse: _reparse, ...asked } = request;
  const input: EnrichCsvInput = {
    ...asked,
    ...boundsOf(request),
    ...sentWith(staged),
    input: staged.input,
    into: staged.into,
    origin: config.origin,
    host: shared && !isDatabaseSource(staged.input) ? hostname() : undefined,
    urlColumn: staged.unitColumn ?? undefined,
    csv: request.csv ? resolve(request.csv) : undefined,
  };
  return { workflow: workflowNames.enrichCsv, workflowId: workflowIdOf(staged.job), input };
}
