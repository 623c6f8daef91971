import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PageEnvelope } from '../../../src/core/events/page.js';
import {
  advance,
  expiredCursor,
  isCircle,
  next,
  type PageFacts,
  startWalk,
  WalkError,
  type WalkProblem,
  type WalkState,
} from '../../../src/core/events/walk.js';

const page = (ids: readonly (string | number)[], nextCursor: string | null = null, hasMore = nextCursor !== null) => ({
  data: ids.map((id) => ({ id })),
  hasMore,
  nextCursor,
});

/** Walks from page to page by cursor until the end, over 10,000 pages at most. */
function walk(pageOf: (cursor: string | null) => PageEnvelope<{ id: string | number }>): {
  ids: (string | number)[];
  state: WalkState;
} {
  const ids: (string | number)[] = [];
  let state = startWalk();
  while (!state.done) {
    const step = next(state, pageOf(state.cursor));
    ids.push(...step.items.map(({ id }) => id));
    state = step.state;
    if (state.pages > 10_000) throw new Error('a loop');
  }
  return { ids, state };
}

/** The error of a walk that a list has refused; null if the walk goes on. */
const errorOf = (act: () => unknown): WalkError | null => {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof WalkError) return error;
    throw error;
  }
};
const problemOf = (act: () => unknown): string | null => errorOf(act)?.problem ?? null;

describe('a walk', () => {
  it.each<[string, PageEnvelope<number>, boolean, string | null]>([
    ['{data, hasMore, nextCursor}', { data: [1], hasMore: true, nextCursor: 'c' }, false, 'c'],
    ['{data, has_more, next_cursor}', { data: [1], has_more: true, next_cursor: 'c' }, false, 'c'],
    ['a list of runs', { runs: [1], nextCursor: 'c' }, false, 'c'],
    ['a list of monitors', { monitors: [1], nextCursor: null }, true, null],
    ['items without information about more', { items: [1] }, true, null],
    ['no more records but a cursor', { data: [1], hasMore: false, nextCursor: 'c' }, true, null],
    ['an empty cursor', { data: [1], nextCursor: '' }, true, null],
    ['an empty list', { data: [], hasMore: false, nextCursor: null }, true, null],
  ])('reads %s', (_name, answer, done, cursor) => {
    const { state } = next(startWalk(), answer);
    expect([state.done, state.cursor]).toEqual([done, cursor]);
  });

  it('goes to the end of any list, over empty pages, with plain state of bounded size', () => {
    const size = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(size, (sizes) => {
        let id = 0;
        const pages = sizes.map((count) => Array.from({ length: count }, () => `id ${id++}`));
        const { ids, state } = walk((cursor) => {
          const at = Number(cursor ?? 0);
          return page(pages[at] ?? [], at + 1 < pages.length ? String(at + 1) : null);
        });
        expect(ids).toEqual(pages.flat());
        expect(state).toMatchObject({ pages: sizes.length, items: id, cursor: null });
        expect(JSON.parse(JSON.stringify(state))).toEqual(state);
        expect(JSON.stringify(state).length).toBeLessThan(2000);
      }),
    );
  });

  it('fault 52: finds a pagination loop of any length with different pages', () => {
    for (const length of [1, 2, 5, 33, 100, 1000]) {
      for (const before of [0, 3, 70]) {
        let id = 0;
        const circle = (cursor: string | null) => {
          const at = Number(cursor ?? 0);
          return page([id++], String(at + 1 < before + length + 1 ? at + 1 : before + 1));
        };
        expect(problemOf(() => walk(circle))).toBe('repeated-cursor');
        expect(id).toBeLessThan(4 * (before + length) + 4);
      }
    }
  });

  it('fault 52: refuses the first page again, and any of the latest pages', () => {
    let state = next(startWalk(), page(['a', 'b'], 'c1')).state;
    state = next(state, page(['c'], 'c2')).state;
    expect(problemOf(() => next(state, page(['a', 'b'], 'c3')))).toBe('repeated-page');
    expect(problemOf(() => next(state, page(['b', 'a'], 'c3')))).toBeNull();
    expect(problemOf(() => next(state, page(['c', 'd'], 'c3')))).toBeNull();
    expect(problemOf(() => next(state, page(['a', 'b'])))).toBe('repeated-page');
  });

  it('fault 52: distinguishes an expired cursor from other refusals', () => {
    const refused = (status: number) => ({ phase: 'answer' as const, status });
    const { state } = next(startWalk(), page([1], 'c'));
    for (const status of [400, 404, 410]) {
      expect(expiredCursor(state, refused(status))).toMatchObject({ problem: 'expired-cursor', pages: 1 });
      expect(expiredCursor(startWalk(), refused(status))).toBeNull();
    }
    expect(expiredCursor(startWalk('kept'), refused(400))?.message).toMatch(
      /refused the cursor.*\(400\).*start the walk/,
    );
    expect(expiredCursor(state, refused(429))).toBeNull();
    expect(expiredCursor(state, { phase: 'refused', status: null })).toBeNull();
  });
});

const facts = (print: string | null, cursor: string | null, changes: Partial<PageFacts> = {}): PageFacts => ({
  items: print === null ? 0 : 1,
  hasMore: cursor !== null,
  cursor,
  print,
  ...changes,
});
const walked = (pages: readonly PageFacts[], mayRepeat = 0): WalkState =>
  pages.reduce((state, one) => advance(state, one, mayRepeat), startWalk());

describe('a repeated page', () => {
  const [first, second] = [facts('a', 'c1'), facts('b', 'c2')];

  it('is skipped as often in a row as its reader allows, if it leads on', () => {
    const once = advance(walked([first, second], 2), facts('a', 'c3'), 2);
    expect(once).toMatchObject({ repeats: 1, cursor: 'c3', pages: 3 });
    const twice = advance(once, facts('b', 'c4'), 2);
    expect(twice.repeats).toBe(2);
    expect(problemOf(() => advance(twice, facts('a', 'c5'), 2))).toBe('repeated-page');
  });

  it('is counted again from zero after a new page', () => {
    const between = walked([first, facts('a', 'c2'), facts('b', 'c3')], 1);
    expect(between.repeats).toBeUndefined();
    expect(advance(between, facts('a', 'c4'), 1).repeats).toBe(1);
  });

  it.each([
    ['the end', facts('a', null)],
    ['the end beside a cursor', facts('a', 'c3', { hasMore: false })],
    ['more without a cursor', facts('a', null, { hasMore: true })],
  ])('is refused as %s, even if its reader allows repeats', (_, repeated) => {
    expect(problemOf(() => advance(walked([first, second]), repeated, 9))).toBe('repeated-page');
  });

  it('is found after any number of empty pages', () => {
    const empty = Array.from({ length: 50 }, (_, index) => facts(null, `e${index}`));
    expect(problemOf(() => walked([first, ...empty, facts('a', 'c2')]))).toBe('repeated-page');
  });

  it.each(['one', 1])('is recognized by the ids of its records, such as %j, with any other content', (id) => {
    const { state } = next(startWalk(), { data: [{ id, title: 'old' }], nextCursor: 'c1' });
    const changed = { data: [{ id, title: 'new' }], nextCursor: 'c2' };
    expect(problemOf(() => next(state, changed))).toBe('repeated-page');
  });

  it.each([
    ['an invalid id', { id: null, x: 1 }, { id: null, x: 2 }],
    ['an id of another type', { id: [1], x: 1 }, { id: [1], x: 2 }],
    ['only a text', 'one', 'two'],
    ['nothing', null, 'two'],
  ])('is recognized by the whole content if its records have %s', (_, one, other) => {
    const { state } = next<unknown>(startWalk(), { data: [one], nextCursor: 'c1' });
    expect(next<unknown>(state, { data: [other], nextCursor: 'c2' }).state.pages).toBe(2);
    expect(problemOf(() => next<unknown>(state, { data: [one], nextCursor: 'c2' }))).toBe('repeated-page');
  });
});

describe('the state of a walk', () => {
  it('holds after the first page only the data for later comparisons', () => {
    const { state } = next(startWalk(), page(['a'], 'c1'));
    const kept = { v: 1, cursor: 'c1', done: false, pages: 1, items: 1, empty: 0, cursors: [], mark: null };
    expect(state).toEqual({ ...kept, seen: [expect.any(Number)] });
  });

  it('is no larger after a thousand pages than after fifty', () => {
    const pages = Array.from({ length: 1000 }, (_, index) => facts(`page ${index}`, `cursor ${index}`));
    const [fifty, thousand] = [walked(pages.slice(0, 50)), walked(pages)];
    expect(thousand.seen).toHaveLength(fifty.seen.length);
    expect(thousand.cursors).toHaveLength(fifty.cursors.length);
  });

  it('finds a recent cursor as soon as it is repeated', () => {
    const pages = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((cursor) => facts(`to ${cursor}`, cursor));
    for (const again of ['c1', 'c3', 'c5']) {
      expect(errorOf(() => walked([...pages, facts('other', again)]))).toMatchObject({
        problem: 'repeated-cursor',
        pages: 6,
      });
    }
    const long = Array.from({ length: 40 }, (_, index) => facts(`page ${index}`, `c${index}`));
    expect(problemOf(() => walked([...long, facts('other', 'c12')]))).toBe('repeated-cursor');
  });

  it('of an earlier version still recognizes pages before it', () => {
    const kept: WalkState = JSON.parse(
      '{"v":1,"cursor":"c2","done":false,"pages":2,"items":3,"empty":0,"cursors":[2001926445434697],"seen":[427315893891126,4399191578563657],"mark":2001926445434697}',
    );
    expect(problemOf(() => next(kept, page(['a', 'b'], 'c3')))).toBe('repeated-page');
    expect(problemOf(() => next(kept, page(['c'], 'c3')))).toBe('repeated-page');
    expect(problemOf(() => next(kept, page(['d'], 'c1')))).toBe('repeated-cursor');
    expect(next(kept, page(['d'], 'c3')).state.pages).toBe(3);
  });

  it('counts how many walks in a row ended in a pagination loop', () => {
    expect(startWalk('c', 2)).toMatchObject({ cursor: 'c', circles: 2 });
    expect(startWalk('c')).not.toHaveProperty('circles');
    expect(advance(startWalk(null, 2), facts('a', 'c1')).circles).toBe(2);
  });
});

describe('a list without a valid next page', () => {
  const ask = (answer: PageEnvelope<unknown>) => () => next(startWalk(), answer);
  const known = next(startWalk(), page(['a'], 'c1')).state;
  const empty = Array.from({ length: 1001 }, (_, index) => facts(null, `e${index}`));

  it.each<[WalkProblem, boolean, () => unknown, RegExp]>([
    ['no-list', false, ask({ nextCursor: 'c' }), /has no list \(after 0 page\(s\)\)/],
    ['no-cursor', false, ask({ data: [1], hasMore: true }), /more records but gives no cursor.* \(after 0 page/],
    ['no-end', false, () => walked(empty), /1001 empty pages in a row.* \(after 1000 page/],
    [
      'repeated-page',
      true,
      () => next(known, page(['a'], 'c2')),
      /page that it had returned before; start.* \(after 1 page/,
    ],
    [
      'repeated-cursor',
      true,
      () => next(known, page(['b'], 'c1')),
      /cursor that it had returned before; start.* \(after 1 page/,
    ],
  ])('reports %s, the reason, and the number of pages before', (problem, circle, act, message) => {
    const error = errorOf(act);
    expect(error).toMatchObject({ name: 'WalkError', problem, message: expect.stringMatching(message) });
    expect(isCircle(error)).toBe(circle);
  });

  it('is no pagination loop if another error only looks like one', () => {
    expect(isCircle(Object.assign(new Error('other'), { problem: 'repeated-page' }))).toBe(false);
    expect(isCircle(null)).toBe(false);
  });

  it('reports for an expired cursor the message of the service, and only if it answered', () => {
    const cause = new Error('gone');
    expect(expiredCursor(known, { phase: 'answer', status: 410 }, cause)?.cause).toBe(cause);
    expect(expiredCursor(known, { phase: 'answer', status: 410 })).not.toHaveProperty('cause');
    expect(expiredCursor(known, { phase: 'sent', status: 404 })).toBeNull();
  });
});
