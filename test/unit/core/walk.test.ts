import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PageEnvelope } from '../../../src/core/events/page.js';
import { expiredCursor, next, startWalk, WalkError, type WalkState } from '../../../src/core/events/walk.js';

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

const problemOf = (act: () => unknown): string | null => {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof WalkError) return error.problem;
    throw error;
  }
};

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

  it('distinguishes pages of records without ids by their whole content', () => {
    const state = next(startWalk(), { data: [{ x: 1 }], nextCursor: 'c' }).state;
    expect(problemOf(() => next(state, { data: [{ x: 2 }], nextCursor: 'd' }))).toBeNull();
    expect(problemOf(() => next(state, { data: [{ x: 1 }], nextCursor: 'd' }))).toBe('repeated-page');
  });

  it('refuses a page with more but no cursor, an answer without a list, and a thousand empty pages', () => {
    expect(problemOf(() => next(startWalk(), { data: [1], hasMore: true }))).toBe('no-cursor');
    expect(problemOf(() => next(startWalk(), { nextCursor: 'c' }))).toBe('no-list');
    let count = 0;
    expect(problemOf(() => walk(() => page([], `c${count++}`)))).toBe('no-end');
    expect(count).toBe(1001);
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
