import { expiredCursor, next, type PageEnvelope, readPage, startWalk, WalkError } from '../../core/events/walk.js';
import { fieldOf } from '../checks/field-of.js';
import { ApiError } from '../wire/errors.js';

/**
 * Yields every item of a list over all its pages. Each page is requested once the one before is used up. Rejects with `WalkError`
 * where the list cannot be walked on, and with the errors of `fetchPage`.
 */
export async function* eachItem<T>(
  first: string | null,
  fetchPage: (cursor: string | null) => Promise<PageEnvelope<T>>,
): AsyncGenerator<T, void, undefined> {
  let state = startWalk(first);
  // A list that shifts while it is read shows the end of a page again at the start of the next.
  let before: ReadonlySet<unknown> = new Set();
  /** The new items of a page; and the error where no page can follow it. */
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
