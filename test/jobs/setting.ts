import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { WorkerOptions } from '@temporalio/worker';
import { onTestFinished } from 'vitest';
import type { RuntimeConfig } from '../../dist/worker/runtime-types.js';
import type { EnrichCsvInput } from '../../src/core/job.js';
import type { BookTotals } from '../../src/core/journal.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';
import { Folder, type InputRow } from './folder.js';
import { type Host, type Job, startHost, startJob } from './host.js';

/** A folder with rows, a sandbox and a worker of its own, taken apart when the test ends. */
export interface Setting {
  readonly folder: Folder;
  readonly sandbox: Sandbox;
  readonly config: RuntimeConfig;
  /** The worker that runs now. */
  host(): Host;
  /** Drains the worker that runs and starts another on the same folder. */
  anotherHost(): Promise<Host>;
  start(changes?: Partial<EnrichCsvInput>): Promise<Job>;
  /** What the journal says of all jobs of the folder. */
  totals(): Promise<BookTotals>;
  /** Drains the worker: now the warehouse can be read. */
  stop(): Promise<void>;
}

export async function openSetting(
  temporal: TestWorkflowEnvironment,
  rows: readonly InputRow[],
  options: {
    readonly sandbox?: Partial<SandboxOptions>;
    readonly config?: Partial<RuntimeConfig>;
    readonly worker?: Partial<WorkerOptions>;
  } = {},
): Promise<Setting> {
  const folder = new Folder();
  folder.write(rows);
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, ...options.sandbox });
  const config = folder.config(sandbox.url, options.config);
  let host = await startHost(temporal, config, options.worker);
  onTestFinished(async () => {
    await host.stop();
    await sandbox.close();
    folder.remove();
  });
  return {
    folder,
    sandbox,
    config,
    host: () => host,
    anotherHost: async () => {
      await host.stop();
      host = await startHost(temporal, config, options.worker);
      return host;
    },
    start: (changes) => startJob(temporal, folder, changes),
    totals: () => host.parts.deps.journal.totals(''),
    stop: () => host.stop(),
  };
}

/** How often each URL was bought, beyond the first time. */
export function boughtAgain(sandbox: Sandbox): Record<string, number> {
  return Object.fromEntries(
    Object.entries(sandbox.bill().keys)
      .filter(([, times]) => times > 1)
      .map(([key, times]) => [key.split(' ')[1] as string, times - 1]),
  );
}
