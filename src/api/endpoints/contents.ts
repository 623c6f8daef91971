import { z } from 'zod';
import { estimateContents } from '../../core/purchase/prices.js';
import { betaOfHighlights, contentsOptions } from '../checks/contents-options.js';
import { fieldOf, textOf } from '../checks/field-of.js';
import { filled } from '../checks/fields.js';
import { commonAnswer, lacksResults } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';

const shape = z.looseObject({
  urls: z.array(filled).optional(),
  /** Deprecated: ids of results of earlier searches, instead of `urls`. */
  ids: z.array(filled).optional(),
  ...contentsOptions,
  compliance: z.string().optional(),
  userIdentifier: z.string().optional(),
  flags: z.array(z.string()).optional(),
});

const contentsRequest = shape.superRefine(({ urls, ids }, context) => {
  const wrong = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
  if (urls && ids) wrong('ids', 'must not be combined with urls');
  else if (!urls && !ids) wrong('urls', 'is missing; at least 1 URL is required');
  else if ((urls ?? ids)?.length === 0) wrong(urls ? 'urls' : 'ids', 'must have at least 1 entry');
});

/** Request of `POST /contents`. Unknown fields reach the wire. */
export type ContentsRequest = z.infer<typeof shape>;

const text = z.string().nullish();

const contentStatus = z.looseObject({
  id: text,
  status: text,
  source: text,
  error: z.looseObject({ tag: text, httpStatusCode: z.number().nullish() }).nullish(),
});

const contentsResponse = z.looseObject({
  ...commonAnswer,
  statuses: z.array(contentStatus).nullish(),
});

/** Answer of `POST /contents`. */
export type ContentsResponse = z.infer<typeof contentsResponse>;

/** Whether an answer names the error of a URL; then it needs no results. */
function hasErrors(answer: unknown): boolean {
  const statuses = fieldOf(answer, 'statuses');
  const isNamed = (error: unknown) =>
    typeof fieldOf(error, 'httpStatusCode') === 'number' || /\S/.test(textOf(fieldOf(error, 'tag')));
  return (
    Array.isArray(statuses) &&
    statuses.some((one) => fieldOf(one, 'status') === 'error' && isNamed(fieldOf(one, 'error')))
  );
}

/** Page contents for up to 100 URLs: a URL that fails is a status in the answer, never an HTTP error. */
export const contentsEndpoint = defineEndpoint<ContentsRequest, ContentsResponse>({
  name: 'contents',
  method: 'POST',
  path: '/contents',
  paid: true,
  idempotent: false,
  retry: 'rebuy',
  estimate: ({ urls, ids, ...options }, prices) => estimateContents(options, urls?.length ?? ids?.length ?? 1, prices),
  rateClass: 'contents',
  request: contentsRequest,
  beta: betaOfHighlights,
  response: contentsResponse,
  lacks: (answer) => (hasErrors(answer) ? null : lacksResults(answer)),
  deprecated: { ids: 'use urls' },
});
