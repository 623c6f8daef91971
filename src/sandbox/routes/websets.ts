import { z } from 'zod';
import { checkQuery, fromCursor, listQueryOf, pageOfList, Refusal, toCursor } from '../base/refusal.js';
import { jsonWork, plainRoute, type Route, type Routes } from '../route.js';
import type { EventHistory } from '../websets/event-history.js';
import { numberOf } from '../websets/story.js';
import { externalIdOf, isDeletedAt, itemAt, itemCountAt, websetAt } from '../websets/webset.js';

const listQuery = listQueryOf(100, 25, {});
const getQuery = z.looseObject({ expand: z.array(z.literal('items')).optional() });
const itemsQuery = listQueryOf(100, 20, { sourceId: z.string().min(1).optional() });

/** `GET /websets/v0/websets`: all websets that are not deleted, newest first. */
const listWebsets: Route = (_input, { history }, { query }) => {
  const { limit, cursor } = checkQuery(listQuery, query);
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : fromCursor('websets', cursor);
  return () => {
    const { data, ...page } = pageOfList(living(history, before), limit, (story) => toCursor('websets', story));
    return jsonWork({ data: data.map((story) => websetOf(history, story)), ...page });
  };
};

/** `GET /websets/v0/websets/{id or externalId}`; `expand=items` adds the first hundred items. */
const getWebset: Route = (_input, { history }, { params, query }) => {
  const { expand } = checkQuery(getQuery, query, ['expand']);
  return () => {
    const story = find(history, params.id);
    const items = expand ? { items: itemsOf(history, story).slice(0, 100) } : {};
    return jsonWork({ ...websetOf(history, story), ...items });
  };
};

/** `GET /websets/v0/websets/{id}/items`: all items. The service promises no order. */
const listWebsetItems: Route = (_input, { history }, { params, query }) => {
  const { limit, cursor, sourceId } = checkQuery(itemsQuery, query);
  const from = cursor === undefined ? 0 : fromCursor('items', cursor);
  return () => {
    const items = itemsOf(history, find(history, params.id));
    const found = items.filter((item) => sourceId === undefined || item.sourceId === sourceId);
    const { data, hasMore } = pageOfList(found.slice(from), limit, () => '');
    return jsonWork({ data, hasMore, nextCursor: hasMore ? toCursor('items', from + data.length) : null });
  };
};

function* living(history: EventHistory, before: number): Iterable<number> {
  for (const story of history.newestWebsets()) {
    if (story < before && !isDeletedAt(story, history.stepOf(story))) yield story;
  }
}

function find(history: EventHistory, name: string): number {
  const external = /^external-(\d+)$/.exec(name)?.[1];
  const story = external === undefined ? numberOf('webset', history.seed, name) : Number(external);
  const step = story === null ? -1 : history.stepOf(story);
  if (story === null || step < 0 || isDeletedAt(story, step) || (external !== undefined && !externalIdOf(story))) {
    throw new Refusal(404, 'NOT_FOUND', `There is no webset ${name}`);
  }
  return story;
}

function websetOf(history: EventHistory, story: number): Record<string, unknown> {
  return websetAt(history.sceneAt(story, history.stepOf(story)), history.seed);
}

function itemsOf(history: EventHistory, story: number): Record<string, unknown>[] {
  const step = history.stepOf(story);
  const scene = history.sceneAt(story, step);
  return Array.from({ length: itemCountAt(step) }, (_, n) => itemAt(scene, n, history.seed));
}

export const websetRoutes: Routes = {
  'GET /websets/v0/websets': { route: listWebsets },
  'GET /websets/v0/websets/:id': { route: getWebset },
  'GET /websets/v0/websets/:id/items': { route: listWebsetItems },
  'GET /websets/v0/websets/:id/items/:itemId': {
    route: plainRoute(({ history }, { id, itemId }) => {
      const item = itemsOf(history, find(history, id)).find(({ id }) => id === itemId);
      if (!item) throw new Refusal(404, 'NOT_FOUND', `There is no item ${itemId}`);
      return item;
    }),
  },
};
