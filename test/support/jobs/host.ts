import { fileURLToPath } from 'node:url';
import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { openParts, type Parts } from '../../../dist/worker/host/parts.js';
import { workerDefaults, workflowSinks } from '../../../dist/worker/host/worker-options.js';
import type { JournalTotals } from '../../../src/core/purchase/journal.js';
import type { EnrichCsvInput, JobProgress, JobSummary, Resumption } from '../../../src/core/row-job-schemas.js';
import { queryNames, signalNames, workflowNames } from '../../../src/core/rows/job-names.js';
import type { Folder } from './folder.js';

export const codePath = fileURLToPath(new URL('../../../dist/worker/workflow-bundle.js', import.meta.url));

/** A worker with real parts in this process. */
export interface Host {
  readonly parts: Parts;
  /** Drains the worker and closes its parts. */
  stop(): Promise<void>;
}

export async function startHost(
  temporal: TestWorkflowEnvironment,
  config: RuntimeConfig,
  options: Partial<WorkerOptions> = {},
): Promise<Host> {
  const parts = await openParts(config);
  const worker = await Worker.create({
    ...workerDefaults,
    sinks: workflowSinks,
    namespace: temporal.namespace,
    workflowBundle: { codePath },
    // Workflows run in this thread: a thread for each worker costs a quarter of a second.
    debugMode: true,
    connection: temporal.nativeConnection,
    taskQueue: config.taskQueue,
    activities: parts.activities,
    ...options,
  });
  parts.watchTemporal(temporal.client);
  const ended = worker.run();
  let stopping: Promise<void> | null = null;
  const stop = async () => {
    worker.shutdown();
    await ended;
    await parts.close();
  };
  return { parts, stop: () => (stopping ??= stop()) };
}

/** A running job as any client sees it, in any language. */
export class Job {
  private constructor(
    readonly folder: Folder,
    readonly handle: WorkflowHandleWithFirstExecutionRunId,
    readonly again: () => Promise<Job>,
  ) {}

  /**
   * Starts the workflow by name, with plain JSON. It reads the folder's input, puts 10 URLs into each request, and writes a CSV at the end.
   */
  static async start(
    temporal: TestWorkflowEnvironment,
    taskQueue: string,
    folder: Folder,
    changes: Partial<EnrichCsvInput> = {},
  ): Promise<Job> {
    const { input, into, csv } = folder;
    const args: [EnrichCsvInput] = [{ input, urlColumn: 'url', into, csv, batch: 10, ...changes }];
    const workflowId = `enrich-${folder.dir}`;
    const handle = await temporal.client.workflow.start(workflowNames.enrichCsv, { workflowId, taskQueue, args });
    return new Job(folder, handle, () => Job.start(temporal, taskQueue, folder, changes));
  }

  progress(): Promise<JobProgress> {
    return this.handle.query<JobProgress>(queryNames.progress);
  }

  pause(): Promise<void> {
    return this.handle.signal(signalNames.pause);
  }

  resume(how?: Resumption): Promise<void> {
    return how ? this.handle.signal<[Resumption]>(signalNames.resume, how) : this.handle.signal(signalNames.resume);
  }

  result(): Promise<JobSummary> {
    return this.handle.result() as Promise<JobSummary>;
  }

  /** The totals of the job in the journal of this worker. */
  async totals(host: Host): Promise<JournalTotals> {
    return host.parts.deps.journal.totals(`${(await this.progress()).job}/`);
  }
}
