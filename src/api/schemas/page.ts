import { type ZodType, z } from 'zod';
import { type PageEnvelope, readPage } from '../../core/events/walk.js';
import { filled, whole } from '../checks/fields.js';

/** Fields of every list request. A cursor is the `nextCursor` of the page before; null requests the first page. */
export const pageQuery = { cursor: filled.nullish(), limit: whole(1).optional() };

export const pageRequest = z.looseObject(pageQuery);
export type PageRequest = z.infer<typeof pageRequest>;

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
