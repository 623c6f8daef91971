import { expiredCursor, next, type PageEnvelope, startWalk } from '../core/walk.js';
import { ApiError } from './errors.js';

/**
 * Every item of a list, over all its pages: each page is asked for when the one before was used up. Rejects with `WalkError`
 * where the list can't be walked on, and with what `fetchPage` rejects with.
 */
export async function* eachItem<T>(
  first: string | null,
  fetchPage: (cursor: string | null) => Promise<PageEnvelope<T>>,
): AsyncGenerator<T, void, undefined> {
  let state = startWalk(first);
  while (!state.done) {
    let answer: PageEnvelope<T>;
    try {
      answer = await fetchPage(state.cursor);
    } catch (error) {
      throw (error instanceof ApiError && expiredCursor(state, error.facts, error)) || error;
    }
    const step = next(state, answer);
    state = step.state;
    yield* step.items;
  }
}
