import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { listEventsEndpoint } from '../../api/endpoints/events.js';
import { endOfWalk } from '../../core/alerts/job-alerts.js';
import {
  type EventWarehouse,
  type LoadedPages,
  MisshapenPage,
  type StreamState,
} from '../../core/events/event-warehouse.js';
import { WalkError } from '../../core/events/walk.js';
import {
  DEFAULT_EVENT_WAREHOUSE,
  lengthOf,
  type OpenedWalk,
  streamOf,
  verifies,
  type Walk,
  type WalkHeartbeat,
  type WalkInput,
  type WalkWindowInput,
  type WalkWindowResult,
} from '../../core/events/walk-job.js';
import { OVERLAP_MS, planSync, SETTLE_MS, type Span } from '../../core/events/walk-window.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import type { WalkCounts, WalkSummary } from '../../core/workflow-result-schemas.js';
import { cancellation, heartbeatFrom, SLICE_MS } from '../base/cancellation.js';
import type { ActivityDeps, WalkDeps } from '../base/deps.js';
import { sendFreeWithRetries } from '../base/free-call.js';
import { holding } from '../base/held.js';
import { type First, onlyFor, onlyForServed } from '../base/monitor-warehouses.js';
import { waitingFor, withHeartbeat } from '../base/with-heartbeat.js';
import { localFailures, toFailure } from '../call/failure.js';
import { checkRequest } from '../operations/whole-request.js';
import { walkOn } from './follow-cursor.js';
import { WalkLoader } from './walk-loader.js';

export interface FinishWalk {
  readonly walk: Walk;
  readonly startedAt: number;
  readonly before: WalkCounts;
  /** Why a scheduled run ends early; null: the run is complete. */
  readonly stopped: string | null;
  /** The run, for its alert. Absent: there is no alert. */
  readonly run?: { readonly id: string; readonly scheduled: boolean };
}

/** The numbers of the windows that are left; if none are left, the summary. */
export type WalkEnd =
  | { readonly pending: readonly number[]; readonly summary: null }
  | { readonly pending: readonly []; readonly summary: WalkSummary };

/** The name of the warehouse in the waits that heartbeats report. */
const WAREHOUSE = 'the warehouse';

export function createWalkActivities(
  deps: WalkDeps & Pick<ActivityDeps, 'alerts' | 'noteWalk' | 'host' | 'servedElsewhere'>,
) {
  return {
    /**
     * `openWalk`: continues the pending windows of an earlier run. If there are no such windows, begins a run. The run of a sync ends one
     * minute before the present time at the service. The run of a backfill covers the part of its range that is not loaded yet. If the
     * result has no windows, there is nothing to do.
     */
    async openWalk(input: First<WalkInput>): Promise<OpenedWalk> {
      return withHeartbeat(async () => {
        await onlyForServed(deps, input);
        const walk = walkOf(deps, input);
        checkRequest(deps, listEventsEndpoint, { types: input.types ?? [] }, { unchecked: input.unchecked });
        // If the warehouse, the types or the start of a new walk are refused, the walk is not recorded.
        const warehouse = await waitingFor(WAREHOUSE, () => deps.events.warehouse(walk));
        const note = () => deps.noteWalk(walk, Context.current().info.workflowExecution?.workflowId ?? '');
        const known = await waitingFor(WAREHOUSE, () => warehouse.stream(walk)).catch(async (error: unknown) => {
          // A walk whose warehouse cannot be read now is recorded, too, so that commands list the walk while it waits.
          await note();
          throw error;
        });
        const now = known === null ? await firstAsked(deps, input, walk.types) : null;
        await note();
        if (known && known.pending.length > 0) return opened(walk, known, true);
        if (known && isOver(input, known)) return opened(walk, known, false);
        const run = await runOf(deps, input, known, now);
        if (known && run === null) return opened(walk, known, false);
        const begun = { ...(run as NonNullable<typeof run>), types: walk.types };
        return opened(walk, await waitingFor(WAREHOUSE, () => warehouse.begin(walk, begun)), false);
      });
    },

    walkWindow: createWalkWindow(deps),

    /**
     * `finishWalk`: returns the windows that the warehouse still lists as pending. If no window is pending, or if the run was stopped,
     * returns the summary of the run.
     */
    async finishWalk({ walk, startedAt, before, stopped, run }: FinishWalk): Promise<WalkEnd> {
      return withHeartbeat(async () => {
        onlyFor(deps, walk.origin);
        const warehouse = await waitingFor(WAREHOUSE, () => deps.events.warehouse(walk));
        const known = await waitingFor(WAREHOUSE, () => warehouse.stream(walk));
        if (known && known.pending.length > 0 && stopped === null) return { pending: known.pending, summary: null };
        const verified = await waitingFor(WAREHOUSE, async () => {
          await warehouse.foldAll(walk.origin);
          return verifies(walk) && stopped === null ? { verified: await warehouse.verified(walk) } : {};
        });
        const sum = (name: keyof WalkCounts) => Math.max(0, (known?.[name] ?? 0) - before[name]);
        const summary: WalkSummary = {
          stream: walk.stream,
          into: walk.into,
          phase: stopped === null ? 'done' : 'stopped',
          message: stopped,
          watermark: known?.watermark ?? null,
          windows: known?.windows ?? 0,
          pages: sum('pages'),
          events: sum('events'),
          added: sum('added'),
          changed: sum('changed'),
          seconds: (Date.now() - startedAt) / 1000,
          ...verified,
        };
        if (run) {
          const job = jobOfWorkflow(Context.current().info.workflowExecution?.workflowId ?? '');
          const about = { job, kind: 'walk' as const, run: run.id, origin: walk.origin, scheduled: run.scheduled };
          await deps.alerts.note([endOfWalk(about, summary)]);
        }
        return { pending: [], summary };
      });
    },
  };
}

function walkOf({ origin }: WalkDeps, input: WalkInput): Walk {
  const { into = DEFAULT_EVENT_WAREHOUSE, host, types = [] } = input;
  try {
    return { origin, stream: streamOf(input), into, types: [...new Set(types)].sort(), host };
  } catch (error) {
    throw badInput(
      error instanceof RangeError ? 'from and until must be dates such as 2025-01-31T00:00:00Z' : String(error),
    );
  }
}

/** Whether a backfill has been read up to the end of its range. */
function isOver(input: WalkInput, { to }: StreamState): boolean {
  if (input.kind !== 'backfill' || input.verify || input.until === undefined) return false;
  return to !== null && to >= Date.parse(input.until);
}

/**
 * Checks types and start of a walk with one request and returns the service's time. Returns null if the walk has neither types nor a start,
 * or if the request got no answer. Rejects if the service refuses the types, or if the start is after the end of the range.
 */
async function firstAsked(deps: WalkDeps, input: WalkInput, types: readonly string[]): Promise<number | null> {
  const start = input.kind === 'backfill' && input.from !== undefined ? Date.parse(input.from) : null;
  if (types.length === 0 && start === null) return null;
  try {
    const asked = { limit: 1, types: types.length > 0 ? [...types] : undefined };
    const { date } = await sendFreeWithRetries(deps, listEventsEndpoint, asked, { unchecked: input.unchecked });
    const now = date ?? Date.now();
    if (start !== null) spanOf(input, start, now);
    return now;
  } catch (error) {
    const refuses = error instanceof ApplicationFailure && refusals.includes(error.type ?? '');
    // After any failure except a refusal, the walk is recorded, and then paused or retried.
    if (!refuses && error instanceof ApplicationFailure) return null;
    throw error;
  }
}

const refusals: readonly string[] = [localFailures.badInput, 'InvalidRequest'];

/** Returns the range of a backfill from its start. Rejects with `BadInput` if the range is empty. */
function spanOf(input: WalkInput, from: number | null, now: number): Span & { readonly to: number } {
  const until = input.kind === 'backfill' ? input.until : undefined;
  const to = Math.min(until === undefined ? now : Date.parse(until), now - SETTLE_MS);
  if (from !== null && from > to) throw badInput('from must not be later than until, or than a minute ago');
  return { from, to };
}

/** Returns the range of a new run, by the service's clock; null if the range would be empty. */
async function runOf(
  deps: WalkDeps,
  input: WalkInput,
  known: StreamState | null,
  asked: number | null,
): Promise<(Span & { readonly sweep: boolean }) | null> {
  const now = asked ?? (await sendFreeWithRetries(deps, listEventsEndpoint, { limit: 1 })).date ?? Date.now();
  if (input.kind === 'sync') return planSync(known ?? { watermark: null, sweptAt: null }, now);
  const from = input.from === undefined ? null : Date.parse(input.from);
  // An earlier run read up to `known.to`, so only later events are left.
  if (known?.to != null && !input.verify) {
    const { to } = spanOf(input, null, now);
    return to > known.to ? { from: known.to - OVERLAP_MS, to, sweep: false } : null;
  }
  return { ...spanOf(input, from, now), sweep: false };
}

function badInput(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, localFailures.badInput);
}

function opened(walk: Walk, known: StreamState, continues: boolean): OpenedWalk {
  const { pages, events, added, changed, pending, lengthMs, share } = known;
  return {
    walk,
    windows: pending,
    continues,
    lengthMs,
    doneMs: lengthMs * (share ?? 0),
    before: { pages, events, added, changed },
  };
}

/**
 * The interval, in ms, at which one page is parsed for its event times. Other pages are not parsed, because parsing delays the next
 * request.
 */
const POLL_EVERY_MS = 1000;

const nothing = { pages: 0, events: 0, added: 0, changed: 0, parts: [] as readonly number[], lengthMs: 0, partsMs: 0 };

/**
 * `walkWindow`: walks one window from its last landed cursor. Pages are loaded while further pages are fetched. Ends after a minute, or
 * earlier if the window is split. Repeated or concurrent attempts neither lose nor double an event.
 */
function createWalkWindow(deps: WalkDeps) {
  const loaderOf = onceForEach((warehouse: EventWarehouse) => new WalkLoader((batch) => warehouse.load(batch)));

  let readAt = Number.NEGATIVE_INFINITY;
  const readsTimes = (): boolean => {
    const now = performance.now();
    if (now - readAt < POLL_EVERY_MS) return false;
    readAt = now;
    return true;
  };

  return async function walkWindow({ walk, window, splits }: WalkWindowInput): Promise<WalkWindowResult> {
    const context = Context.current();
    const { info, cancellationSignal: signal } = context;
    const attempt = randomUUID();
    let state: WalkHeartbeat = { window, pages: 0, waitingFor: null };
    let loaded: (() => LoadedPages) | null = null;
    let claimedIn: EventWarehouse | null = null;
    const details = (): WalkHeartbeat => {
      const { events = 0, added = 0, changed = 0 } = loaded?.() ?? {};
      return { ...state, events, added, changed };
    };
    const heart = heartbeatFrom(details);
    const keepHeld = holding(window);
    const { stop, done: release } = cancellation({});
    const until = performance.now() + SLICE_MS;
    try {
      onlyFor(deps, walk.origin);
      const warehouse = await deps.events.warehouse(walk);
      const claimed = await warehouse.claim(walk, window, attempt);
      if (!claimed) return { ...nothing, done: true };
      claimedIn = warehouse;
      const loading = loaderOf(warehouse).join(walk, window, attempt);
      loaded = loading.soFar;
      try {
        const { walked, parts, begin } = await walkOn(deps, walk, claimed, loading, {
          signal,
          careful: info.attempt > 1,
          splits,
          readsTimes,
          hasTime: () => performance.now() < until && !stop.aborted,
          report: (changes) => {
            state = { ...state, ...changes };
          },
        });
        const replaced = parts && (await warehouse.split(walk, window, attempt, parts, begin));
        const { current, ...counts } = await loading.landed();
        await keepHeld();
        // The workflow stops the activities of its own process before Temporal reports the cancel.
        const isStoppedHere = stop.aborted && !signal.aborted;
        if (isStoppedHere || context.cancellationDetails?.cancelRequested) await foldQuietly(warehouse, walk);
        return {
          ...counts,
          pages: walked.pages - claimed.walk.pages,
          done: walked.done && current,
          parts: replaced ?? [],
          lengthMs: lengthOf(claimed),
          partsMs: (parts ?? []).reduce((sum, part) => sum + lengthOf(part), 0),
        };
      } finally {
        loading.leave();
      }
    } catch (error) {
      await keepHeld();
      const failure = toWalkFailure(error, info.attempt);
      if (claimedIn && failure instanceof ApplicationFailure && failure.nonRetryable)
        await foldQuietly(claimedIn, walk);
      throw failure;
    } finally {
      release();
      heart.stop();
    }
  };
}

/**
 * Updates the current state after a pause, a cancel or a final failure, because the next run may start much later. A failure of the update
 * is ignored: the next run repeats the update and reports the reason.
 */
async function foldQuietly(warehouse: EventWarehouse, { origin }: WalkWindowInput['walk']): Promise<void> {
  await warehouse.foldAll(origin).catch(() => undefined);
}

/**
 * Returns the failure of a walk. A list that cannot be walked needs a person. A page of an unexpected shape needs a person only from the
 * second attempt on, because that attempt checks each event field by field.
 */
function toWalkFailure(error: unknown, attempt: number): unknown {
  if (error instanceof WalkError) return ApplicationFailure.nonRetryable(error.message, error.name);
  if (error instanceof MisshapenPage && attempt > 1)
    return ApplicationFailure.nonRetryable(error.message, 'ResponseShape');
  return toFailure(error, attempt);
}
