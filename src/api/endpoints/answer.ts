import { z } from 'zod';
import { estimateAnswer } from '../../core/purchase/prices.js';
import { fieldOf } from '../checks/field-of.js';
import { filled, oneOf } from '../checks/fields.js';
import { outputSchema } from '../checks/schema-form.js';
import { searchFilters } from '../checks/search-filters.js';
import { costDollars } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';

const answerRequest = z.looseObject({
  query: filled,
  /** Full text of the pages in the citations. */
  text: z.boolean().optional(),
  model: oneOf('exa', 'exa-pro', 'exa-research', 'exa-fast').optional(),
  systemPrompt: z.string().optional(),
  userLocation: searchFilters.userLocation,
  outputSchema: outputSchema.optional(),
  userIdentifier: z.string().optional(),
});

/** Request of `POST /answer`. Unknown fields reach the wire. */
export type AnswerRequest = z.infer<typeof answerRequest>;

const text = z.string().nullish();

/** A source of an answer (API reference: /answer). */
export const citation = z.looseObject({
  id: text,
  url: text,
  title: text,
  author: text,
  publishedDate: text,
  text,
  image: text,
  favicon: text,
});

const answerResponse = z.looseObject({
  requestId: text,
  /** A text, or any value of the `outputSchema`. */
  answer: z.union([z.string(), z.looseObject({}), z.array(z.unknown()), z.number(), z.boolean()]).nullish(),
  citations: z.array(citation).nullish(),
  costDollars: costDollars.nullish(),
});

/** Answer of `POST /answer`. */
export type AnswerResponse = z.infer<typeof answerResponse>;

/** A direct answer or a summary, with its sources. */
export const answerEndpoint = defineEndpoint<AnswerRequest, AnswerResponse>({
  name: 'answer',
  method: 'POST',
  path: '/answer',
  paid: true,
  idempotent: false,
  retry: 'rebuy',
  estimate: (_input, prices) => estimateAnswer(prices),
  rateClass: 'answer',
  request: answerRequest,
  response: answerResponse,
  lacks: (response) =>
    (fieldOf(response, 'answer') ?? null) === null ? { field: 'answer', message: 'expected a value' } : null,
});
