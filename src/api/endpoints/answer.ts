import { z } from 'zod';
import { estimateAnswer } from '../../core/purchase/prices.js';
import { checkText, firstProblem } from '../checks/checks.js';
import { fieldOf } from '../checks/field-of.js';
import { checkSchemaForm } from '../checks/schema-form.js';
import { checkLocation, userLocation } from '../schemas/location.js';
import { outputSchema } from '../schemas/output-schema.js';
import { costDollars } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';
import { noStream } from './search.js';

const answerRequest = z.looseObject({
  query: z.string(),
  /** Full text of the pages in the citations. */
  text: z.boolean().optional(),
  model: z.string().optional(),
  systemPrompt: z.string().optional(),
  userLocation: userLocation.nullish(),
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
  /** A text, or an object of the `outputSchema`. */
  answer: z.union([z.string(), z.looseObject({})]).nullish(),
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
  check: (input, limits) =>
    firstProblem(
      () => checkText('query', input.query, null, limits),
      () => checkLocation(input.userLocation, limits),
      () => checkSchemaForm('outputSchema', input.outputSchema, limits, ['text']),
      () => noStream(input, limits),
    ),
  response: answerResponse,
  lacks: (response) => {
    const answer = fieldOf(response, 'answer') ?? null;
    if (typeof answer === 'string' || (typeof answer === 'object' && answer !== null)) return null;
    return { field: 'answer', message: 'expected a text or an object' };
  },
});
