import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { DEFAULT_EVENT_WAREHOUSE, inputOfStream, streamOf, type WalkInput } from '../../core/events/walk-job.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { startedByUs, workflowNames } from '../../core/rows/job-names.js';
import { canonicalJson } from '../../core/text/json.js';
import { staticSummary } from '../../core/text/static-summary.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import type { Ownership, WorkflowAccess } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { hostField, warehouseOf } from '../config/warehouse-setting.js';
import { walkName } from '../store/event-status.js';
import { WalkHandle } from './job-handle.js';
import { startedByCommand } from './work-owners.js';

/** The warehouse of some work: its address without credentials and, for a file of a shared store, the host that has the file. */
export interface Target {
  readonly into: string;
  readonly host?: string;
}

/** `into`, else the warehouse of the settings, else `usual`. */
export function targetOf(
  { config, shared }: Pick<WorkflowAccess, 'config' | 'shared'>,
  into: string | undefined,
  usual: string,
  cwd: string,
): Target {
  const address = warehouseOf(config, into, usual, cwd);
  return { into: address, ...hostField(address, shared) };
}

export class EventControl {
  readonly #access: WorkflowAccess;
  readonly #cwd: string;

  constructor(access: WorkflowAccess, cwd: string) {
    this.#access = access;
    this.#cwd = cwd;
  }

  target(into: string | undefined): Target {
    return targetOf(this.#access, into, DEFAULT_EVENT_WAREHOUSE, this.#cwd);
  }

  /**
   * Name and workflow id of a walk. Both are made from the stream, the warehouse and the service, so that only one such walk runs at a
   * time.
   */
  work<Input extends WalkInput & Target>(
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
    walk: WalkInput & Target,
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
}
