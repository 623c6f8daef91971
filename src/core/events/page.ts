/** The field names of records in the service's lists. The contract has only `data`. */
export const listNames = ['data', 'items', 'results', 'runs', 'monitors', 'tasks'] as const;

/** The answer of a list operation in any of its envelopes. */
export type PageEnvelope<T> = { readonly [Name in (typeof listNames)[number]]?: readonly T[] | null } & {
  readonly hasMore?: boolean | null;
  readonly has_more?: boolean | null;
  readonly nextCursor?: string | null;
  readonly next_cursor?: string | null;
};

/** One page of any envelope. `hasMore` is null where the answer lacks this field. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean | null;
  readonly cursor: string | null;
}

/**
 * Returns the field of a page that cannot be read, so that the next page is not known and the list would seem to end; null if there is none.
 */
export function oddEnd(page: unknown): { readonly field: string; readonly message: string } | null {
  const { hasMore, has_more, nextCursor, next_cursor } = page as Readonly<Record<string, unknown>>;
  const [more, cursor] = [hasMore ?? has_more ?? null, nextCursor ?? next_cursor ?? null];
  const odd = (field: string, type: string) => ({ field, message: `expected ${type}, so the next page is not known` });
  if (more !== null && typeof more !== 'boolean') return odd('hasMore', 'boolean');
  return more === false || cursor === null || typeof cursor === 'string' ? null : odd('nextCursor', 'string');
}

/** Reads a list's answer; `null` where the answer has no list. */
export function readPage<T>(answer: PageEnvelope<T>): Page<T> | null {
  const name = listNames.find((one) => Array.isArray(answer[one]));
  if (name === undefined) return null;
  return {
    items: answer[name] ?? [],
    hasMore: answer.hasMore ?? answer.has_more ?? null,
    cursor: answer.nextCursor || answer.next_cursor || null,
  };
}
