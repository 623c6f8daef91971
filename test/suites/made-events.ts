import type { RawPage, StreamKey } from '#searchflow/core/events/event-warehouse.js';
import { parseOptions } from '#searchflow/sandbox/base/options.js';
import { Ledger } from '#searchflow/sandbox/ledger/ledger.js';
import { EventHistory } from '#searchflow/sandbox/websets/event-history.js';

/** An event as the service sends it. */
export interface MadeEvent {
  readonly id: string;
  readonly object?: string;
  readonly type: string;
  readonly data: unknown;
  readonly createdAt: string;
  readonly [field: string]: unknown;
}

export const sync: StreamKey = { origin: 'sandbox', stream: 'sync' };

/** Time in Unix ms of this many seconds after noon on 1 January 2025. */
export const noon = (seconds: number) => Date.UTC(2025, 0, 1, 12) + seconds * 1000;
export const iso = (seconds: number) => new Date(noon(seconds)).toISOString();

let made = 0;
/** An event about an object; it happens this many seconds after noon. */
export function event(type: string, seconds: number, data: unknown, more: object = {}): MadeEvent {
  return { id: `event_${++made}`, object: 'event', type, data, createdAt: iso(seconds), ...more };
}

/** Puts events into pages of this size; the pages are numbered from `first`. */
export function pagesOf(events: readonly object[], size = 200, first = 1): RawPage[] {
  const pages: RawPage[] = [];
  for (let from = 0; from < Math.max(1, events.length); from += size) {
    pages.push({ page: first + pages.length, events: Buffer.from(JSON.stringify(events.slice(from, from + size))) });
  }
  return pages;
}

/** Whole lives of websets from the sandbox, the oldest event first. */
export function history(count: number): MadeEvent[] {
  const options = parseOptions({ events: { count, from: '2025-01-01T00:00:00Z', to: '2025-02-01T00:00:00Z' } });
  const lives = new EventHistory({ options, ledger: new Ledger(null), now: Date.now });
  return Array.from({ length: count }, (_, number) => JSON.parse(JSON.stringify(lives.record(number))));
}

/** The items of a list in an order given by a seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  let state = seed;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return items
    .map((item) => ({ item, at: next() }))
    .sort((left, right) => left.at - right.at)
    .map(({ item }) => item);
}
