import { Refusal } from './refusal.js';

/** One page of a list, with the cursor of the next page. */
export interface ListPage<T> {
  readonly data: readonly T[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/**
 * The first `limit` of `items`, which begin after the cursor of the request. `cursorOf` makes the next cursor from the last item of a page.
 */
export function pageOfList<T>(items: Iterable<T>, limit: number, cursorOf: (last: T) => string): ListPage<T> {
  const data: T[] = [];
  for (const item of items) {
    if (data.length === limit) return { data, hasMore: true, nextCursor: cursorOf(data[limit - 1] as T) };
    data.push(item);
  }
  return { data, hasMore: false, nextCursor: null };
}

/** An opaque cursor that encodes a number. */
export function toCursor(kind: string, value: number): string {
  return Buffer.from(`${kind}:${value}`).toString('base64url');
}

/** The number in a cursor; refuses the cursor of another list. */
export function fromCursor(kind: string, cursor: string): number {
  const [prefix, value] = Buffer.from(cursor, 'base64url').toString('utf8').split(':');
  if (prefix !== kind || value === undefined || !/^\d+$/.test(value)) throw badCursor();
  return Number(value);
}

export function badCursor(why = 'not a cursor of this list'): Refusal {
  return new Refusal(400, 'INVALID_REQUEST_QUERY', `Invalid query: cursor: ${why}`);
}
