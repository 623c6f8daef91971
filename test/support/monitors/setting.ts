import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { expect, onTestFinished } from 'vitest';
import { Secret } from '../../../dist/core/connections/secret.js';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { monitorWorkflows } from '../../../src/core/monitors/monitor-names.js';
import type { BatchMonitorsInput } from '../../../src/core/workflow-input-schemas.js';
import type { BatchProgress, BatchSummary } from '../../../src/core/workflow-result-schemas.js';
import { type Service, startService } from '../../service/service.mjs';
import { Folder } from '../jobs/folder.js';
import { type Host, startHost } from '../jobs/host.js';

/** A strict service, a worker and a folder; all three end with the test. */
export class MonitorSetting {
  #workflows = 0;
  #host: Host;

  private constructor(
    readonly temporal: TestWorkflowEnvironment,
    readonly server: Service,
    readonly folder: Folder,
    readonly config: RuntimeConfig,
    host: Host,
  ) {
    this.#host = host;
  }

  /** The current worker. */
  get host(): Host {
    return this.#host;
  }

  static async open(temporal: TestWorkflowEnvironment, changes: Partial<RuntimeConfig> = {}): Promise<MonitorSetting> {
    const server = await startService({ key: 'key-of-the-strict-service' });
    const folder = new Folder();
    const config = folder.config(server.url, {
      ...{ service: 'live', origin: server.url, apiKey: new Secret(server.key) },
      ...changes,
    });
    const host = await startHost(temporal, config);
    const setting = new MonitorSetting(temporal, server, folder, config, host);
    onTestFinished(async () => {
      await setting.host.stop();
      await server.close();
      folder.remove();
    });
    return setting;
  }

  /** Ends the worker. The returned function starts another one on the same state. */
  async withoutHost(): Promise<() => Promise<void>> {
    await this.#host.stop();
    return async () => {
      this.#host = await startHost(this.temporal, this.config);
    };
  }

  /**
   * Adds monitors, 1,200 by default. A third is in each of two teams, a third in no team; every tenth is paused, every fiftieth disabled.
   */
  populate(count = 1200): void {
    for (let index = 0; index < count; index++) {
      const teams: (Record<string, string> | null)[] = [null, { team: 'growth' }, { team: 'sales', region: 'eu' }];
      const team = teams[index % 3] ?? null;
      const status = index % 50 === 7 ? 'disabled' : index % 10 === 3 ? 'paused' : 'active';
      this.server.monitors.add({ name: `${index % 2 === 0 ? 'Daily' : 'weekly'} ${index}`, metadata: team, status });
    }
  }

  async start<T = unknown>(workflow: string, input: object): Promise<WorkflowHandle & { result(): Promise<T> }> {
    const workflowId = `${workflow}-${++this.#workflows}-${this.folder.dir}`;
    const { taskQueue } = this.config;
    const handle = await this.temporal.client.workflow.start(workflow, { workflowId, taskQueue, args: [input] });
    return handle as WorkflowHandle & { result(): Promise<T> };
  }

  batch(input: BatchMonitorsInput) {
    return this.start<BatchSummary>(monitorWorkflows.batchMonitors, { into: this.folder.into, by: 'Ann', ...input });
  }

  progress(handle: WorkflowHandle): Promise<BatchProgress> {
    return handle.query<BatchProgress>('progress');
  }

  /** The result of an SQL statement on the warehouse. */
  async query<Row>(sql: string): Promise<Row[]> {
    await (await this.host.parts.deps.monitors.warehouse({ into: this.folder.into })).close();
    return this.folder.query<Row>(sql);
  }

  /** The calls of a batch except dry runs. */
  batchCalls() {
    return this.server.log.filter(
      ({ path, body }) => path === '/monitors/batch' && (body as { dry_run?: boolean }).dry_run === false,
    );
  }
}

/** The failure of a workflow that must fail. */
export async function failureOf(result: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await result.then(
    () => new Error('it did not fail'),
    (thrown: Error) => thrown,
  );
  expect(error.cause).toBeInstanceOf(ApplicationFailure);
  return error.cause as ApplicationFailure;
}
