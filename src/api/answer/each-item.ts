import { expiredCursor, next, type PageEnvelope, readPage, startWalk, WalkError } from '../../core/events/walk.js';
import { fieldOf } from '../checks/field-of.js';
import { ApiError } from '../wire/errors.js';

/**
 * Every item of a list, over all its pages: each page is asked for when the one before was used up. Rejects with `WalkError`
 * where the list can't be walked on, and with what `fetchPage` rejects with.
 */
export async function* eachItem<T>(
  first: string | null,
  fetchPage: (cursor: string | null) => Promise<PageEnvelope<T>>,
): AsyncGenerator<T, void, undefined> {
  let state = startWalk(first);
  // A list that shifts while it is read shows the end of a page again at the beginning of the next.
  let before: ReadonlySet<unknown> = new Set();
  /** What a page brought; what is right of it, where there is no way on from it. */
  const step = (answer: PageEnvelope<T>): { items: readonly T[]; stuck: WalkError | null } => {
    try {
      const { items, state: behind } = next(state, answer);
      state = behind;
      return { items, stuck: null };
    } catch (error) {
      if (!(error instanceof WalkError) || !/cursor/.test(error.problem)) throw error;
      return { items: readPage(answer)?.items ?? [], stuck: error };
    }
  };
  while (!state.done) {
    let answer: PageEnvelope<T>;
    try {
      answer = await fetchPage(state.cursor);
    } catch (error) {
      throw (error instanceof ApiError && expiredCursor(state, error.facts, error)) || error;
    }
    const { items, stuck } = step(answer);
    const shown = before;
    before = new Set(items.flatMap((item) => fieldOf(item, 'id') ?? []));
    yield* items.filter((item) => !shown.has(fieldOf(item, 'id')));
    if (stuck) throw stuck;
  }
}
