import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { queryNames, signalNames, startedByUs } from '../../../src/core/rows/job-names.js';
import type { BackfillEventsInput, SyncEventsInput } from '../../../src/core/workflow-input-schemas.js';
import type { WalkProgress, WalkSummary } from '../../../src/core/workflow-result-schemas.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import type { PageWalkState } from '../../../src/workflows/page-walk.js';
import { Folder } from '../jobs/folder.js';
import { type Host, startHost } from '../jobs/host.js';
import type { openTemporal } from '../temporal.js';

/** A running walk as any client sees it, in any language. */
export interface RunningWalk {
  progress(): Promise<WalkProgress>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
  cancel(): Promise<unknown>;
  result(): Promise<WalkSummary>;
  /** Number of activities that are running or wait for another attempt. */
  activities(): Promise<number>;
  readonly handle: WorkflowHandle;
}

/** Tasks for a worker that has ended move to another worker after one second instead of ten. */
const hostOptions = { stickyQueueScheduleToStartTimeout: '1 second' } as const;

/** A sandbox with a history of events, and a worker that walks it. */
export class WalkSetting {
  readonly folder = new Folder();
  readonly #temporal: TestWorkflowEnvironment;
  readonly sandbox: Sandbox;
  readonly config: RuntimeConfig;
  #host: Host;
  #walks = 0;

  private constructor(temporal: TestWorkflowEnvironment, sandbox: Sandbox, config: RuntimeConfig, host: Host) {
    this.#temporal = temporal;
    this.sandbox = sandbox;
    this.config = config;
    this.#host = host;
  }

  static async open(
    temporal: TestWorkflowEnvironment,
    events: SandboxOptions['events'],
    more: Partial<SandboxOptions> = {},
  ): Promise<WalkSetting> {
    const sandbox = await startSandbox({ events, ...more });
    const config = new Folder().config(sandbox.url, { concurrency: 16 });
    return new WalkSetting(temporal, sandbox, config, await startHost(temporal, config, hostOptions));
  }

  /** Starts a sync. `state`: the state that an earlier run left. */
  sync(input: SyncEventsInput = {}, state?: PageWalkState): Promise<RunningWalk> {
    return this.#start('syncEvents', input, state);
  }

  backfill(input: BackfillEventsInput): Promise<RunningWalk> {
    return this.#start('backfillEvents', input);
  }

  /** Ends the worker and starts another on the same state. */
  async anotherHost(): Promise<void> {
    await this.#host.stop();
    this.#host = await startHost(this.#temporal, this.config, hostOptions);
  }

  /** Queries the warehouse; it is closed first, because a DuckDB file has only one user. */
  async query<Row>(sql: string): Promise<Row[]> {
    await (await this.#host.parts.deps.events.warehouse({ into: this.folder.into })).close();
    return this.folder.query<Row>(sql);
  }

  /** Number of rows of each event in the warehouse. */
  async ids(): Promise<Map<string, number>> {
    const rows = await this.query<{ id: string; times: number }>(
      'SELECT id, count(*)::INTEGER AS times FROM events GROUP BY id',
    );
    return new Map(rows.map(({ id, times }) => [id, times]));
  }

  /** Number of requests for pages of events that the service answered with a page. */
  pages(): number {
    return this.sandbox.log().filter(({ path, status }) => path.includes('/events') && status === 200).length;
  }

  async close(): Promise<void> {
    await this.#host.stop();
    await this.sandbox.close();
    this.folder.remove();
  }

  async #start(workflow: string, input: object, state?: PageWalkState): Promise<RunningWalk> {
    const handle = await this.#temporal.client.workflow.start(workflow, {
      workflowId: `${this.config.taskQueue}-${++this.#walks}`,
      taskQueue: this.config.taskQueue,
      args: [{ into: this.folder.into, ...input }, ...(state ? [state] : [])],
      // A walk accepts a state only from our own client, which this memo identifies.
      ...(state ? { memo: startedByUs } : {}),
    });
    return {
      handle,
      progress: () => handle.query<WalkProgress>(queryNames.progress),
      pause: () => handle.signal(signalNames.pause),
      resume: () => handle.signal(signalNames.resume),
      stop: () => handle.signal(signalNames.stop),
      cancel: () => handle.cancel(),
      result: () => handle.result() as Promise<WalkSummary>,
      activities: async () => (await handle.describe()).raw.pendingActivities?.length ?? 0,
    };
  }
}

/** Start of the month in which the events of {@link walkSettings} happen. */
export const from = '2025-01-01T00:00:00.000Z';
export const to = '2025-02-01T00:00:00.000Z';

/**
 * For a file of tests that uses a Temporal server. Opens a setting with 1,200 events of a month, or with the events that a test asks for,
 * and closes the setting after the test.
 */
export function walkSettings(open: typeof openTemporal) {
  let temporal: TestWorkflowEnvironment;
  let setting: WalkSetting;
  beforeAll(async () => {
    temporal = await open();
  });
  afterAll(() => temporal?.teardown());
  afterEach(() => setting.close());
  return {
    open: async (events: SandboxOptions['events'] = {}, more: Partial<SandboxOptions> = {}): Promise<WalkSetting> => {
      setting = await WalkSetting.open(temporal, { count: 1200, from, to, ...events }, more);
      return setting;
    },
    /** The setting of the current test. */
    get setting(): WalkSetting {
      return setting;
    },
  };
}
