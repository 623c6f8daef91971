import { type ZodType, z } from 'zod';
import { listNames, oddEnd, type PageEnvelope } from '../../core/events/page.js';
import { fieldOf } from '../checks/field-of.js';
import { filled, whole } from '../checks/fields.js';
import { type Declared, defineEndpoint, type Endpoint } from '../wire/endpoint.js';

/** Fields of every list request. A cursor is the `nextCursor` of the page before; null requests the first page. */
export const pageQuery = { cursor: filled.nullish(), limit: whole(1).optional() };

export const pageRequest = z.looseObject(pageQuery);
export type PageRequest = z.infer<typeof pageRequest>;

/** The schema of a list answer, in any of the envelopes that `core/events/walk.ts` reads. */
export function pageOf<T>(item: ZodType<T>): ZodType<PageEnvelope<T> & { [field: string]: unknown }> {
  const list = z.array(item).nullish();
  const [more, cursor] = [z.boolean().nullish(), z.string().nullish()];
  return z.looseObject({
    ...{ data: list, items: list, results: list, runs: list, monitors: list, tasks: list },
    ...{ hasMore: more, has_more: more, nextCursor: cursor, next_cursor: cursor },
  });
}

/** Declares the endpoint of a list. An answer without a list, or with an end that cannot be read, is unusable. */
export function defineList<I, O extends PageEnvelope<unknown>>(declared: Declared<I, O>): Endpoint<I, O> {
  const isPage = (answer: unknown) => listNames.some((name) => Array.isArray(fieldOf(answer, name)));
  const none = { field: 'data', message: 'expected a list' };
  return defineEndpoint({ lacks: (answer) => (isPage(answer) ? oddEnd(answer) : none), ...declared });
}
