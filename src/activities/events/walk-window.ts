import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type EventWarehouse, type LoadedPages, MisshapenPage } from '../../core/events/event-warehouse.js';
import { WalkError } from '../../core/events/walk.js';
import {
  lengthOf,
  type WalkHeartbeat,
  type WalkWindowInput,
  type WalkWindowResult,
} from '../../core/events/walk-job.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import { cancellation, heartbeatFrom, SLICE_MS } from '../base/cancellation.js';
import type { WalkDeps } from '../base/deps.js';
import { holding } from '../base/held.js';
import { onlyFor } from '../base/monitor-warehouses.js';
import { toFailure } from '../call/failure.js';
import { walkOn } from './follow-cursor.js';
import { WalkLoader } from './walk-loader.js';

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
export function createWalkWindow(deps: WalkDeps) {
  const loaderOf = onceForEach((warehouse: EventWarehouse) => new WalkLoader(warehouse));

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
    const keepHeld = holding(window, details);
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
