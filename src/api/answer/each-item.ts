import { expiredCursor, next, type PageEnvelope, readPage, startWalk, WalkError } from '../../core/events/walk.js';
import { fieldOf } from '../checks/field-of.js';
import { ApiError } from '../wire/errors.js';

/**
 * Yields every item of a list over all its pages. The next page is requested only after all items of the current page were taken. Rejects
 * with `WalkError` where the walk of the list cannot continue, and with the errors of `fetchPage`.
 */
export async function* eachItem<T>(
  first: string | null,
  fetchPage: (cursor: string | null) => Promise<PageEnvelope<T>>,
): AsyncGenerator<T, void, undefined> {
  let state = startWalk(first);
  // Ids of the previous page. If new items shift the list during the walk, the next page begins with items of the previous page.
  let before: ReadonlySet<unknown> = new Set();
  /** Returns the items of a page. `stuck` is the error if no further page can be requested, otherwise null. */
  const step = (answer: PageEnvelope<T>): { items: readonly T[]; stuck: WalkError | null } => {
    try {
      const { items, state: after } = next(state, answer);
      state = after;
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
