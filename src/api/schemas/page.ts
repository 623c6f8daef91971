import { type ZodType, z } from 'zod';
import { type PageEnvelope, readPage } from '../../core/events/walk.js';
import { checkRange, checkText, firstProblem } from '../checks/checks.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';

/** Fields of every list request. A cursor is the `nextCursor` of the page before; null requests the first page. */
export const pageQuery = { cursor: z.string().nullish(), limit: z.number().optional() };

export const pageRequest = z.looseObject(pageQuery);
export type PageRequest = z.infer<typeof pageRequest>;

/** Checks cursor and page size of a list (API reference: rate limits). */
export function checkPage(operation: string, input: PageRequest, limits: ServiceLimits): LimitProblem | null {
  const range = limits.pageSizes[operation] ?? { min: 1, max: null, integer: true };
  return firstProblem(
    () => checkRange('limit', input.limit, range, limits),
    () => checkText('cursor', input.cursor, null, limits),
  );
}

/** The schema of a list answer, in any of the envelopes that `core/events/walk.ts` reads. */
export function pageOf<T>(item: ZodType<T>): ZodType<PageEnvelope<T> & { [field: string]: unknown }> {
  const list = z.array(item).nullish();
  const more = z.boolean().nullish();
  const cursor = z.string().nullish();
  return z
    .looseObject({
      data: list,
      items: list,
      results: list,
      runs: list,
      monitors: list,
      tasks: list,
      hasMore: more,
      has_more: more,
      nextCursor: cursor,
      next_cursor: cursor,
    })
    .refine((answer) => readPage(answer) !== null, 'a list was expected in data');
}
