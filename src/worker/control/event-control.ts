import { existsSync } from 'node:fs';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { DEFAULT_EVENT_WAREHOUSE, inputOfStream, streamOf, type WalkInput } from '../../core/events/walk-job.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { startedByUs, workflowNames } from '../../core/rows/job-names.js';
import { canonicalJson } from '../../core/text/json.js';
import { staticSummary } from '../../core/text/static-summary.js';
import { warehouseFile, warehouseIdentity } from '../../warehouse/index.js';
import type { Ownership, RuntimeConfig, WorkflowAccess } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { hostField, warehouseOf } from '../config/store-setting.js';
import { walkName } from './find-walk.js';
import { WalkHandle } from './job-handle.js';
import { startedByCommand } from './work-owners.js';

/** A warehouse of events: its address without credentials and, for a file, the host that has the file. */
export interface EventTarget {
  readonly into: string;
  readonly host?: string;
}

/** The warehouse of a command on events: `into`, else the warehouse of the settings, else a default file. */
export function eventTarget(config: Pick<RuntimeConfig, 'warehouse'>, into: string | undefined, cwd: string): string {
  return warehouseOf(config, into, DEFAULT_EVENT_WAREHOUSE, cwd);
}

/** Whether a warehouse is a file that does not exist. */
export function isMissingFile(into: string): boolean {
  const file = warehouseFile(into);
  return file !== null && !existsSync(file);
}

/** Starts and resumes walks on events for commands. */
export class EventControl {
  readonly #access: WorkflowAccess;
  readonly #cwd: string;

  constructor(access: WorkflowAccess, cwd: string) {
    this.#access = access;
    this.#cwd = cwd;
  }

  /** The address of a warehouse. With a shared store, the result for a file also has its host. */
  target(into: string | undefined): EventTarget {
    const { config, shared } = this.#access;
    const address = eventTarget(config, into, this.#cwd);
    return { into: address, ...hostField(address, shared) };
  }

  /**
   * Name and workflow id of a walk. Both are made from the stream, the warehouse and the service, so that only one such walk runs at a
   * time.
   */
  work<Input extends WalkInput & EventTarget>(
    input: Input,
  ): { readonly job: string; readonly workflowId: string; readonly input: Input & { readonly origin: string } } {
    const { origin } = this.#access.config;
    const stream = streamOf(input);
    const hash = sha256(canonicalJson([stream, warehouseIdentity(input.into), input.host ?? null, origin])).slice(0, 6);
    const job = `${walkName({ stream })}-${hash}`;
    return { job, workflowId: workflowIdOf(job), input: { ...input, origin } };
  }

  /** Starts a walk. If the walk is already running, resumes it (`joined`). */
  async start(
    walk: WalkInput & EventTarget,
    whose?: Ownership,
  ): Promise<{ readonly handle: WalkHandle; readonly joined: boolean }> {
    const { job, workflowId, input } = this.work(walk);
    await this.#access.allow(input);
    return this.#start({ job, workflowId }, input, whose);
  }

  /** Resumes a running walk. A walk that is not running is started again from its position in the warehouse. */
  async resume(walk: WalkEntry, whose?: Ownership): Promise<WalkHandle> {
    const { stream, into, host, origin } = walk;
    const input = { ...inputOfStream(stream), into, origin, host };
    return (await this.#start(walk, input, whose)).handle;
  }

  async #start(
    { job, workflowId }: Pick<WalkEntry, 'job' | 'workflowId'>,
    { kind, ...args }: WalkInput,
    { detached = false }: Ownership = {},
  ): Promise<{ readonly handle: WalkHandle; readonly joined: boolean }> {
    const { client, config } = this.#access;
    const handle = new WalkHandle(client, workflowId, job);
    try {
      await client.workflow.start(kind === 'sync' ? workflowNames.syncEvents : workflowNames.backfillEvents, {
        workflowId,
        taskQueue: config.taskQueue,
        args: [args],
        ...staticSummary(`${kind} of webset events`),
        memo: detached ? startedByUs : startedByCommand,
      });
      return { handle, joined: false };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      // The walk is already running, so the command resumes it.
      await handle.resume();
      return { handle, joined: true };
    }
  }

  /** The handle of a walk that was started before. */
  attach({ job, workflowId }: Pick<WalkEntry, 'job' | 'workflowId'>): WalkHandle {
    return new WalkHandle(this.#access.client, workflowId, job);
  }
}
