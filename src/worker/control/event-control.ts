import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import {
  type Client,
  defaultPayloadConverter,
  type WorkflowHandle as TemporalHandle,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client';
import {
  DEFAULT_EVENT_WAREHOUSE,
  inputOfStream,
  streamOf,
  type WalkHeartbeat,
  type WalkInput,
  type WalkProgress,
  type WalkSummary,
} from '../../core/events/walk-job.js';
import { signalNames, workflowIdOf, workflowNames } from '../../core/rows/job.js';
import type { WalkEntry } from '../../core/rows/job-entries.js';
import { canonicalJson } from '../../core/text/json.js';
import { isPostgresUrl } from '../../postgres/index.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import { type RuntimeConfig, UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { warehouseOf } from '../config/store-setting.js';
import { walkName } from './find-walk.js';
import { waitsFor } from './waits-for.js';
import { startedByCommand } from './work-owners.js';
import { WorkflowHandle } from './workflow-handle.js';

/** Where events go, and where their files are; addresses have no credentials. */
export interface EventTarget {
  readonly into: string;
  readonly host?: string;
}

/** Where the events of a command go: what it says, else the warehouse of the settings, else a file of their own. */
export function eventTarget(config: Pick<RuntimeConfig, 'warehouse'>, into: string | undefined, cwd: string): string {
  return warehouseOf(config, into, DEFAULT_EVENT_WAREHOUSE, cwd);
}

/** Whether a place is a file that nobody has made. A database may be asked. */
export function isMissingFile(into: string): boolean {
  return !isPostgresUrl(into) && !existsSync(into);
}

/** The walks on events, as the command uses them. */
export class EventControl {
  readonly #access: WorkflowAccess;
  readonly #cwd: string;

  constructor(access: WorkflowAccess, cwd: string) {
    this.#access = access;
    this.#cwd = cwd;
  }

  /** Where a warehouse is, and which machine has it. */
  place(into: string | undefined): EventTarget {
    const { config, shared } = this.#access;
    const address = eventTarget(config, into, this.#cwd);
    return { into: address, ...(shared && !isPostgresUrl(address) ? { host: hostname() } : {}) };
  }

  /** Name and id of a walk: one at a time for a stream, a warehouse and a service, whoever starts it. */
  work<Input extends WalkInput & EventTarget>(
    input: Input,
  ): { readonly job: string; readonly workflowId: string; readonly input: Input & { readonly origin: string } } {
    const { origin } = this.#access.config;
    const stream = streamOf(input);
    const hash = sha256(canonicalJson([stream, warehouseIdentity(input.into), input.host ?? null, origin])).slice(0, 6);
    const job = `${walkName({ stream })}-${hash}`;
    return { job, workflowId: workflowIdOf(job), input: { ...input, origin } };
  }

  /** Starts a walk, or makes the same one go on where it runs: `joined`. */
  async start(walk: WalkInput & EventTarget): Promise<{ readonly handle: WalkHandle; readonly joined: boolean }> {
    const { job, workflowId, input } = this.work(walk);
    await this.#access.allow(input);
    return this.#start({ job, workflowId }, input);
  }

  /** Makes a walk go on: where it runs, or from what its warehouse knows of it. */
  async resume(walk: WalkEntry): Promise<WalkHandle> {
    const { stream, into, host, origin } = walk;
    const input = { ...inputOfStream(stream), into, origin, ...(host === undefined ? {} : { host }) };
    return (await this.#start(walk, input)).handle;
  }

  async #start(
    { job, workflowId }: Pick<WalkEntry, 'job' | 'workflowId'>,
    { kind, ...args }: WalkInput,
  ): Promise<{ readonly handle: WalkHandle; readonly joined: boolean }> {
    const { client, config } = this.#access;
    const handle = new WalkHandle(client, job, workflowId);
    try {
      await client.workflow.start(kind === 'sync' ? workflowNames.syncEvents : workflowNames.backfillEvents, {
        workflowId,
        taskQueue: config.taskQueue,
        args: [args],
        memo: startedByCommand,
      });
      return { handle, joined: false };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      // The same command always means: make it go on.
      await handle.resume();
      return { handle, joined: true };
    }
  }

  /** A walk that ran. */
  attach({ job, workflowId }: Pick<WalkEntry, 'job' | 'workflowId'>): WalkHandle {
    return new WalkHandle(this.#access.client, job, workflowId);
  }
}

/** A walk that runs or ran. */
export class WalkHandle extends WorkflowHandle<WalkProgress, WalkSummary> {
  readonly #handle: TemporalHandle;

  constructor(
    client: Client,
    readonly job: string,
    workflowId: string,
  ) {
    super(client, workflowId);
    this.#handle = client.workflow.getHandle(workflowId);
  }

  pause(): Promise<void> {
    return this.signal(signalNames.pause);
  }

  resume(): Promise<void> {
    return this.signal(signalNames.resume);
  }

  /** What its activities do now, and why those that wait for their next attempt do. */
  async running(): Promise<readonly WalkHeartbeat[]> {
    const { raw } = await this.#handle.describe();
    const now = Date.now();
    return (raw.pendingActivities ?? []).map((activity) => {
      const payload = activity.heartbeatDetails?.payloads?.[0];
      const beat = payload ? defaultPayloadConverter.fromPayload<WalkHeartbeat | null>(payload) : null;
      // What an attempt that ended had loaded is in no sum, but in the warehouse: shown until the next one tells its own.
      return { ...(beat ?? { window: 0, pages: 0 }), waitingFor: waitsFor(activity, now) ?? beat?.waitingFor ?? null };
    });
  }
}
