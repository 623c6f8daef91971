import { expect } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/index.js';
import type { MadeEvent } from '../../suites/made-events.js';
import { currentState } from '../../suites/oracle.js';
import type { WalkSetting } from './walk-setting.js';

/**
 * Expects that the warehouse has every event that the service lists exactly once, and the state that results from reading all events in
 * order.
 */
export async function expectAll(setting: WalkSetting): Promise<void> {
  const events = await allEvents(setting.sandbox);
  const ids = await setting.ids();
  expect(ids.size).toBe(events.length);
  expect([...ids.values()].every((times) => times === 1)).toBe(true);
  expect(events.filter(({ id }) => !ids.has(id))).toEqual([]);
  const isNewestFirst = (events[0]?.createdAt ?? '') > (events.at(-1)?.createdAt ?? '');
  const state = currentState(isNewestFirst ? events.toReversed() : events);
  for (const table of ['websets', 'webset_searches', 'webset_items', 'webset_monitors']) {
    const rows = await setting.query<{ id: string; data: string }>(`SELECT id, data FROM ${table} ORDER BY id`);
    const wanted = [...(state.get(table) ?? [])].sort(([left], [right]) => (left < right ? -1 : 1));
    expect(rows.map(({ id, data }) => [id, JSON.parse(data)])).toEqual(wanted.map(([id, { data }]) => [id, data]));
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
