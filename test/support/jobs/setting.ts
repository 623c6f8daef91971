import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { WorkerOptions } from '@temporalio/worker';
import { onTestFinished } from 'vitest';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { type Fault, type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { lazily, ofFile } from '../of-file.js';
import { temporalOfFile } from '../temporal.js';
import { Folder, type InputRow, plainRows } from './folder.js';
import { type Host, Job, startHost } from './host.js';

/** A sandbox and a worker, on which jobs run one after the other. */
export interface Setting {
  readonly temporal: TestWorkflowEnvironment;
  readonly sandbox: Sandbox;
  readonly config: RuntimeConfig;
  /** The current worker. */
  host(): Host;
  /** Drains the running worker and starts another one on the same state. */
  anotherHost(): Promise<Host>;
  /**
   * Empties the purchase log and the request log of the sandbox, sets these faults, and starts a job with these rows in a folder of its
   * own. A test that runs in parallel with others passes the `onTestFinished` of its context.
   */
  begin(
    rows: readonly InputRow[],
    changes?: Partial<EnrichCsvInput>,
    faults?: readonly Fault[],
    atEnd?: typeof onTestFinished,
  ): Promise<Job>;
  close(): Promise<void>;
}

export interface SettingOptions {
  readonly sandbox?: Partial<SandboxOptions>;
  readonly config?: Partial<RuntimeConfig>;
  readonly worker?: Partial<WorkerOptions>;
}

export async function openSetting(temporal: TestWorkflowEnvironment, options: SettingOptions = {}): Promise<Setting> {
  const home = new Folder();
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, ...options.sandbox });
  const config = home.config(sandbox.url, options.config);
  let host = await startHost(temporal, config, options.worker);
  return {
    temporal,
    sandbox,
    config,
    host: () => host,
    anotherHost: async () => {
      await host.stop();
      host = await startHost(temporal, config, options.worker);
      return host;
    },
    begin: async (rows, changes, faults = [], atEnd = onTestFinished) => {
      const folder = new Folder();
      atEnd(() => folder.remove());
      folder.write(rows);
      sandbox.reset();
      sandbox.setFaults(faults);
      return Job.start(temporal, config.taskQueue, folder, changes);
    },
    close: async () => {
      await host.stop();
      await sandbox.close();
      home.remove();
    },
  };
}

/** The setting of all tests of a file, on the run's Temporal server. Its parts can be used once the tests run. */
export interface FileSetting {
  readonly temporal: TestWorkflowEnvironment;
  readonly setting: Setting;
  readonly sandbox: Sandbox;
  /** Rows that no other job of the file has. */
  freshRows(count: number): InputRow[];
}

/** Opens a setting before the tests of the file, and closes it after them. */
export function settingOfFile(options: SettingOptions = {}): FileSetting {
  const temporal = temporalOfFile();
  const setting = ofFile(() => openSetting(temporal, options));
  let used = 0;
  return {
    temporal,
    setting,
    sandbox: lazily(() => setting.sandbox),
    freshRows: (count) => plainRows(count, 10_000 * ++used),
  };
}

/** For each URL that was bought more than once, the number of purchases after the first. */
export function boughtAgain(sandbox: Sandbox): Record<string, number> {
  return Object.fromEntries(
    Object.entries(sandbox.bill().keys)
      .filter(([, times]) => times > 1)
      .map(([key, times]) => [key.split(' ')[1] as string, times - 1]),
  );
}
