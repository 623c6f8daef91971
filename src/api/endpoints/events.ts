import { z } from 'zod';
import { eventTypes } from '../../core/events/payloads.js';
import { date, oneOf } from '../checks/fields.js';
import { defineList, pageOf, pageQuery } from '../schemas/page.js';
import { type ById, defineEndpoint, ofRecord } from '../wire/endpoint.js';

const eventFilter = z.looseObject({
  ...pageQuery,
  /** Event types. An event matches if its type is in this list. */
  types: z.array(oneOf(...eventTypes)).optional(),
  /** Both bounds are ISO 8601 in UTC, and inclusive. */
  createdBefore: date.optional(),
  createdAfter: date.optional(),
});
/** Filter of `GET /websets/v0/events`. */
export type EventFilter = z.infer<typeof eventFilter>;

/** An event of a webset (API reference: /websets/v0/websets, /websets/v0/events). `data` is unchecked, for every type. */
const event = z.looseObject({
  id: z.string(),
  object: z.string().nullish(),
  type: z.string().nullish(),
  data: z.unknown().optional(),
  createdAt: z.string().nullish(),
});
export type WebsetEvent = z.infer<typeof event>;

const eventPage = pageOf(event);
export type EventPage = z.infer<typeof eventPage>;

/** The events of the team's websets. */
export const listEventsEndpoint = defineList<EventFilter, EventPage>({
  name: 'listEvents',
  path: '/websets/v0/events',
  rateClass: 'websets',
  request: eventFilter,
  response: eventPage,
});

/** One event. */
export const getEventEndpoint = defineEndpoint<ById, WebsetEvent>({
  name: 'getEvent',
  path: '/websets/v0/events/{id}',
  rateClass: 'websets',
  ...ofRecord,
  response: event,
});
