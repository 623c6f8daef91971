import type { RawPage, StreamKey } from '#searchflow/core/events/event-warehouse.js';
import { type Sandbox, startSandbox } from '#searchflow/sandbox/index.js';

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
export async function history(count: number): Promise<MadeEvent[]> {
  const sandbox = await startSandbox({
    events: { count, from: '2025-01-01T00:00:00Z', to: '2025-02-01T00:00:00Z', order: 'oldest' },
  });
  try {
    return await allEvents(sandbox);
  } finally {
    await sandbox.close();
  }
}

/** Every event that a sandbox lists now, in the order of its list. */
export async function allEvents(sandbox: Pick<Sandbox, 'url'>): Promise<MadeEvent[]> {
  const all: MadeEvent[] = [];
  let cursor = '';
  for (;;) {
    const answer = await fetch(`${sandbox.url}/websets/v0/events?limit=200${cursor}`, {
      headers: { 'x-api-key': 'k' },
    });
    const page = (await answer.json()) as { data: MadeEvent[]; nextCursor: string | null };
    all.push(...page.data);
    if (page.nextCursor === null) return all;
    cursor = `&cursor=${page.nextCursor}`;
  }
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
