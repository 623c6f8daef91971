import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type EnrichCsvInput, workflowIdOf, workflowNames } from '../../core/rows/job.js';
import type { ScheduledWork } from '../../core/schedules/schedule.js';
import { warehouseFile } from '../../warehouse/index.js';
import { type JobPlan, UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import { boundsOf } from '../staging/stage-job.js';

/**
 * The work of a schedule of a job of rows. Each run stages the contents that the file has at its start, on a worker of this machine. Throws
 * `UsageError` for options that are for single runs only.
 */
export function rowsWork(plan: JobPlan, { config, shared }: Pick<WorkflowAccess, 'config' | 'shared'>): ScheduledWork {
  const { staged, request } = plan;
  if (request.input === '-')
    throw new UsageError(
      'A schedule needs a file, because each run reads its input again. Standard input can be read only once.',
    );
  if (request.reparse) throw new UsageError('--reparse cannot be scheduled. Run it as a single command.');
  if (request.rebuy)
    throw new UsageError('--rebuy cannot be scheduled. To buy old answers again, use --refresh-after.');
  if (request.limit !== undefined)
    throw new UsageError('--limit cannot be scheduled. A schedule asks for all rows of its file.');
  if (request.csv !== null && shared && warehouseFile(staged.into) === null) {
    throw new UsageError(
      '--csv cannot be scheduled with a shared store, because a run may end on any machine. To write the file: searchflow export',
    );
  }
  const { operation, template, rowsPerRun, defaultScheme, delimiter, encoding, job, csv, refreshAfterMs } = request;
  const input: EnrichCsvInput = {
    input: staged.input,
    into: staged.into,
    origin: config.origin,
    ...(shared ? { host: hostname() } : {}),
    options: request.options,
    batch: request.batch,
    operation,
    template,
    rowsPerRun,
    ...(staged.unitColumn === null ? {} : { urlColumn: staged.unitColumn }),
    defaultScheme,
    ...(delimiter === null ? {} : { delimiter }),
    ...(encoding === undefined ? {} : { encoding }),
    ...(job === null ? {} : { job }),
    ...(csv === null ? {} : { csv: resolve(csv) }),
    ...(refreshAfterMs === null ? {} : { refreshAfterMs }),
    ...(request.retryFailed ? { retryFailed: true } : {}),
    ...boundsOf(request),
  };
  return { workflow: workflowNames.enrichCsv, workflowId: workflowIdOf(staged.job), input };
}
