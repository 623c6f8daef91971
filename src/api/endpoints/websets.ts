import { z } from 'zod';
import { defineList, type PageRequest, pageOf, pageQuery, pageRequest } from '../schemas/page.js';
import { type Webset, type WebsetItem, webset, websetItem } from '../schemas/webset-schemas.js';
import { defineEndpoint } from '../wire/endpoint.js';

const rateClass = 'websets';

const websetPage = pageOf(webset);
export type WebsetPage = z.infer<typeof websetPage>;

/** The websets of the team. */
export const listWebsetsEndpoint = defineList<PageRequest, WebsetPage>({
  name: 'listWebsets',
  path: '/websets/v0/websets',
  rateClass,
  request: pageRequest,
  response: websetPage,
});

const websetRequest = z.looseObject({
  /** The webset's id, or its `externalId`. */
  id: z.string(),
  /** `items` adds the first 100 items to the answer. */
  expand: z.union([z.string(), z.array(z.string())]).optional(),
});
export type WebsetRequest = z.infer<typeof websetRequest>;

/** One webset, with its searches, imports, enrichments and monitors. */
export const getWebsetEndpoint = defineEndpoint<WebsetRequest, Webset>({
  name: 'getWebset',
  path: '/websets/v0/websets/{id}',
  rateClass,
  request: websetRequest,
  response: webset,
});

const itemFilter = z.looseObject({ id: z.string(), ...pageQuery, sourceId: z.string().optional() });
/** Filter of a webset's items; `id` is the id of the webset. */
export type WebsetItemFilter = z.infer<typeof itemFilter>;

const itemPage = pageOf<WebsetItem>(websetItem);
export type WebsetItemPage = z.infer<typeof itemPage>;

/** The items of a webset, in no defined order. */
export const listWebsetItemsEndpoint = defineList<WebsetItemFilter, WebsetItemPage>({
  name: 'listWebsetItems',
  path: '/websets/v0/websets/{id}/items',
  rateClass,
  request: itemFilter,
  response: itemPage,
});
