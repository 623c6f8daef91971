import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type EnrichCsvInput, workflowIdOf, workflowNames } from '../../core/rows/job.js';
import type { ScheduledWork } from '../../core/schedules/schedule.js';
import { isPostgresUrl } from '../../postgres/index.js';
import { type JobPlan, UsageError, type WorkflowAccess } from '../config/runtime-types.js';

/**
 * What a schedule of a job of rows runs: it is staged, planned and bought anew each time, from the file as it is then, by a worker on
 * this machine. Throws `UsageError` for what makes sense once, or only where the command itself runs.
 */
export function rowsWork(plan: JobPlan, { config, shared }: Pick<WorkflowAccess, 'config' | 'shared'>): ScheduledWork {
  const { staged, request } = plan;
  if (request.input === '-')
    throw new UsageError('A schedule reads its file each time: standard input can be read once.');
  if (request.reparse)
    throw new UsageError('--reparse reads what was bought; it is for one command, not for a schedule.');
  if (request.rebuy)
    throw new UsageError('--rebuy is for one run; a schedule buys what is new, or older than --refresh-after.');
  if (request.limit !== undefined)
    throw new UsageError('--limit tries the first rows once; a schedule reads all rows of its file.');
  if (request.csv !== null && shared && isPostgresUrl(staged.into)) {
    throw new UsageError(
      '--csv: a run ends on any machine of the store, which would write the file there; write it with searchflow export',
    );
  }
  const {
    operation,
    template,
    rowsPerRun,
    maxCostDollars,
    maxRunSeconds,
    defaultScheme,
    delimiter,
    job,
    csv,
    refreshAfterMs,
  } = request;
  const input: EnrichCsvInput = {
    input: staged.input,
    into: staged.into,
    origin: config.origin,
    ...(shared ? { host: hostname() } : {}),
    options: request.options,
    batch: request.batch,
    ...(operation === undefined ? {} : { operation }),
    ...(template === undefined ? {} : { template }),
    ...(rowsPerRun === undefined ? {} : { rowsPerRun }),
    ...(staged.unitColumn === null ? {} : { urlColumn: staged.unitColumn }),
    ...(defaultScheme === undefined ? {} : { defaultScheme }),
    ...(delimiter === null ? {} : { delimiter }),
    ...(job === null ? {} : { job }),
    ...(csv === null ? {} : { csv: resolve(csv) }),
    ...(refreshAfterMs === null ? {} : { refreshAfterMs }),
    ...(request.retryFailed ? { retryFailed: true } : {}),
    ...(maxCostDollars === undefined ? {} : { maxCostDollars }),
    ...(maxRunSeconds === undefined ? {} : { maxRunSeconds }),
  };
  return { workflow: workflowNames.enrichCsv, workflowId: workflowIdOf(staged.job), input };
}
