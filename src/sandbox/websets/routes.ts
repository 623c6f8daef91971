import { z } from 'zod';
import { eventTypes } from '../../core/events/payloads.js';
import { badCursor, itemsAfter, listQueryOf, pageOf, Refusal } from '../base/refusal.js';
import { plain, type Routes, route } from '../route.js';
import type { EventHistory } from './event-history.js';
import { firstWhere, idOf, numberOf } from './story.js';
import { externalIdOf, isDeletedAt, itemsAt, websetAt } from './webset.js';

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional();
const eventQuery = listQueryOf(200, 25, {
  types: z.array(z.enum(eventTypes)).optional(),
  createdAfter: time,
  createdBefore: time,
});

/** One page of the list of events. The options of the history decide its order and paging. Both times are inclusive. */
function eventPage(history: EventHistory, now: number, query: z.infer<typeof eventQuery>) {
  const { options } = history;
  const { createdAfter: after = Number.NEGATIVE_INFINITY, createdBefore: before = Number.POSITIVE_INFINITY } = query;
  const timeAt = (position: number) => history.timeOf(history.at(position));
  const first = firstWhere(history.length, (position) => timeAt(position) >= after);
  const last = firstWhere(history.length, (position) => timeAt(position) > before) - 1;
  const cursor = query.cursor === undefined ? null : readCursor(query.cursor, now - (options.cursorTtlMs ?? now));
  const from = options.paging === 'position' ? cursor?.position : undefined;
  const skipped = options.paging === 'offset' ? (cursor?.skip ?? 0) : 0;
  const isNewest = options.order === 'newest';
  const data: unknown[] = [];
  let skip = skipped;
  let position = isNewest ? Math.min(from ?? last, last) : Math.max(from ?? first, first);
  for (; position >= first && position <= last; position += isNewest ? -1 : 1) {
    const event = history.at(position);
    if (!(query.types?.includes(history.typeOf(event)) ?? true) || !history.isSeen(event)) continue;
    if (skip > 0) skip -= 1;
    else if (data.length < query.limit) data.push(history.record(event));
    else {
      const next = `events:${position}:${skipped + data.length}:${now}`;
      return { data, hasMore: true, nextCursor: Buffer.from(next).toString('base64url') };
    }
  }
  return { data, hasMore: false, nextCursor: null };
}

/**
 * The place where a page begins: the position in the history, or the number of events to skip. A cursor from before `oldest` has expired.
 */
function readCursor(cursor: string, oldest: number): { readonly position: number; readonly skip: number } {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const [, position, skip, at] = /^events:(\d+):(\d+):(\d+)$/.exec(text) ?? [];
  if (at === undefined) throw badCursor();
  if (Number(at) < oldest) throw badCursor('expired');
  return { position: Number(position), skip: Number(skip) };
}

/** The number of a webset that exists, by its id or its external id. */
function find(history: EventHistory, name: string): number {
  const external = /^external-(\d+)$/.exec(name)?.[1];
  const story = external === undefined ? numberOf('webset', history.seed, name) : Number(external);
  const step = story === null ? -1 : history.stepOf(story);
  if (story === null || step < 0 || isDeletedAt(story, step) || (external !== undefined && !externalIdOf(story))) {
    throw new Refusal(404, `There is no webset ${name}`);
  }
  return story;
}

/** The newest `most` websets that are not deleted, with numbers below `before`. */
function newest(history: EventHistory, before: number, most: number) {
  const found: { readonly id: string; readonly story: number }[] = [];
  for (const story of history.newestWebsets()) {
    if (story >= before || isDeletedAt(story, history.stepOf(story))) continue;
    found.push({ id: idOf('webset', history.seed, story), story });
    if (found.length === most) break;
  }
  return found;
}

function itemsOf(history: EventHistory, name: string) {
  return itemsAt(history.sceneAt(find(history, name)));
}

export const websetRoutes = (history: EventHistory, now: () => number): Routes => ({
  'GET /websets/v0/events': route({
    query: eventQuery,
    work: ({ query }) => ({ json: eventPage(history, now(), query) }),
  }),
  'GET /websets/v0/events/:id': plain(({ id }) => {
    const event = history.find(id);
    if (event === null) throw new Refusal(404, `There is no event ${id}`);
    return history.record(event);
  }),
  /** The newest first. */
  'GET /websets/v0/websets': route({
    query: listQueryOf(100, 25, {}),
    work: ({ query: { limit, cursor } }) => {
      const before = cursor === undefined ? Number.POSITIVE_INFINITY : numberOf('webset', history.seed, cursor);
      if (before === null) throw badCursor();
      const found = newest(history, before, limit + 1);
      return { json: pageOf(found, limit, ({ story }) => websetAt(history.sceneAt(story))) };
    },
  }),
  /** `expand=items` adds the items. */
  'GET /websets/v0/websets/:id': route({
    query: z.looseObject({ expand: z.array(z.literal('items')).optional() }),
    work: ({ params, query }) => {
      const scene = history.sceneAt(find(history, params.id));
      return { json: { ...websetAt(scene), items: query.expand && itemsAt(scene) } };
    },
  }),
  /** All items. The service promises no order. */
  'GET /websets/v0/websets/:id/items': route({
    query: listQueryOf(100, 20, { sourceId: z.string().min(1).optional() }),
    work: ({ params, query: { limit, cursor, sourceId } }) => {
      const items = itemsOf(history, params.id).filter((item) => sourceId === undefined || item.sourceId === sourceId);
      return { json: pageOf(itemsAfter(items, cursor), limit, (item) => item) };
    },
  }),
  'GET /websets/v0/websets/:id/items/:itemId': plain(({ id, itemId }) => {
    const item = itemsOf(history, id).find((one) => one.id === itemId);
    if (!item) throw new Refusal(404, `There is no item ${itemId}`);
    return item;
  }),
});
