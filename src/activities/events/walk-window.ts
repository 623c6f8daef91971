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
import type { WalkDeps } from '../base/deps.js';
import { onlyFor } from '../base/monitor-warehouses.js';
import { toFailure } from '../call/failure.js';
import { heartbeatFrom, SLICE_MS } from '../purchase/cancellation.js';
import { WalkLoader } from './walk-loader.js';
import { walkOn } from './walk-on.js';

/**
 * Times are read so often, ms, of one page of all windows: it takes as long as a request may be late at most, and at ten requests a
 * second each one's page would be read.
 */
const POLL_EVERY_MS = 1000;

const nothing = { pages: 0, events: 0, added: 0, changed: 0, parts: [] as readonly number[], lengthMs: 0, partsMs: 0 };

/**
 * `walkWindow`: walks one window from its last landed cursor; pages are loaded while the next ones are fetched. Ends after a
 * minute with what has landed, and early where it splits a heavy window. Run twice, even at once, nothing is lost or doubled.
 */
export function createWalkWindow(deps: WalkDeps) {
  const loaders = new WeakMap<EventWarehouse, WalkLoader>();
  const loaderOf = (warehouse: EventWarehouse): WalkLoader => {
    const loader = loaders.get(warehouse) ?? new WalkLoader(warehouse);
    loaders.set(warehouse, loader);
    return loader;
  };

  let lookedAt = Number.NEGATIVE_INFINITY;
  const looks = (): boolean => {
    const now = performance.now();
    if (now - lookedAt < POLL_EVERY_MS) return false;
    lookedAt = now;
    return true;
  };

  return async function walkWindow({ walk, window, splits }: WalkWindowInput): Promise<WalkWindowResult> {
    const context = Context.current();
    const { info, cancellationSignal: signal } = context;
    const attempt = randomUUID();
    let state: WalkHeartbeat = { window, pages: 0, waitingFor: null };
    let loaded: (() => LoadedPages) | null = null;
    let claimedIn: EventWarehouse | null = null;
    const heart = heartbeatFrom((): WalkHeartbeat => {
      const { events = 0, added = 0, changed = 0 } = loaded?.() ?? {};
      return { ...state, events, added, changed };
    });
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
          looks,
          goesOn: () => performance.now() < until && !signal.aborted,
          told: (changes) => {
            state = { ...state, ...changes };
          },
        });
        const replaced = parts && (await warehouse.split(walk, window, attempt, parts, begin));
        const { current, ...counts } = await loading.landed();
        if (context.cancellationDetails?.cancelRequested) await foldQuietly(warehouse, walk);
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
      const failure = toWalkFailure(error, info.attempt);
      if (claimedIn && failure instanceof ApplicationFailure && failure.nonRetryable)
        await foldQuietly(claimedIn, walk);
      throw failure;
    } finally {
      heart.stop();
    }
  };
}

/**
 * Behind a pause, a cancel or a failure nobody else would make state of what is loaded, for as long as that lasts. Where it can't be
 * made now, whoever goes on does, and tells why not.
 */
async function foldQuietly(warehouse: EventWarehouse, { origin }: WalkWindowInput['walk']): Promise<void> {
  await warehouse.foldAll(origin).catch(() => undefined);
}

/** A list that can't be walked on, or holds something else, is a person's business; the latter only when read with care. */
function toWalkFailure(error: unknown, attempt: number): unknown {
  if (error instanceof WalkError) return ApplicationFailure.nonRetryable(error.message, error.name);
  if (error instanceof MisshapenPage && attempt > 1)
    return ApplicationFailure.nonRetryable(error.message, 'ResponseShape');
  return toFailure(error, attempt);
}
