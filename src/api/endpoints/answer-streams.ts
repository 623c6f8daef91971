import { z } from 'zod';
import { fieldOf } from '../checks/field-of.js';
import { grounding, synthesised } from '../schemas/output-schema.js';
import { costDollars, searchResult } from '../schemas/result.js';
import type { SseEvent } from '../stream/sse.js';
import type { StreamEndpoint } from '../stream/stream-endpoint.js';
import { type AnswerRequest, answerEndpoint, citation } from './answer.js';
import { type SearchRequest, searchEndpoint } from './search.js';

const text = z.string().nullish();

const choice = z.looseObject({
  index: z.number().nullish(),
  delta: z.looseObject({ role: text, content: text, refusal: text, citations: z.array(citation).nullish() }).nullish(),
  finish_reason: text,
});

const shared = {
  choices: z.array(choice).nullish(),
  citations: z.array(citation).nullish(),
  costDollars: costDollars.nullish(),
  requestId: text,
};

/** Fields of chunks whose `type` is `unknown`: the event as received. */
const unknownKind = { event: text, data: z.unknown().optional() };

const searchChunk = z.looseObject({
  /**
   * `text-delta`, `grounding`, `results`, `stream-reset`, `done`; `response` where the service did not stream; `unknown` for an unreadable
   * event, such as an event of a new kind.
   */
  type: text,
  ...shared,
  delta: text,
  grounding: z.array(grounding).nullish(),
  results: z.array(searchResult).nullish(),
  /** Set where the text received so far must be discarded. */
  streamReset: z.boolean().nullish(),
  output: synthesised.nullish(),
  searchTime: z.number().nullish(),
  warnings: z.array(z.unknown()).nullish(),
  ...unknownKind,
});
/** A chunk of a streamed search (API reference: /search), exactly as received. */
export type SearchChunk = z.infer<typeof searchChunk>;

const answerChunk = z.looseObject({
  ...shared,
  /** `response` where the service did not stream: then this chunk has `answer` and the citations. */
  type: text,
  answer: z.unknown().optional(),
  ...unknownKind,
});
/** A chunk of a streamed answer (API reference: /answer), exactly as received. */
export type AnswerChunk = z.infer<typeof answerChunk>;

const asked = { stream: true };
const toChunk = (_event: unknown, data: unknown): unknown => data;
const ofUnknown = ({ event }: SseEvent, data: unknown) => ({ type: 'unknown', event, data });
/** Chunks without a `type` have the OpenAI form. */
const ofKinds =
  (...kinds: readonly string[]) =>
  (chunk: unknown): boolean => {
    const type = fieldOf(chunk, 'type');
    return type === undefined || type === null
      ? typeof chunk === 'object' && chunk !== null && !Array.isArray(chunk)
      : typeof type === 'string' && kinds.includes(type);
  };
const ofWhole = (body: object): unknown => ({ ...body, type: 'response' });

/** `streamSearch`: the service streams only with an `outputSchema`; otherwise one chunk has the whole answer. */
export const searchStream: StreamEndpoint<SearchRequest, SearchChunk> = {
  name: 'streamSearch',
  endpoint: searchEndpoint,
  ask: asked,
  chunk: searchChunk,
  toChunk,
  knows: ofKinds('text-delta', 'grounding', 'results', 'stream-reset', 'done', 'response'),
  ofUnknown,
  ofWhole,
  ending: ({ type }) => (type === 'done' || type === 'response' ? 'complete' : null),
  endsWithConnection: false,
};

/**
 * `streamAnswer`: whether `[DONE]` ends the stream is not documented. So the stream is also complete when the connection closes in order
 * after a cost or a `finish_reason`.
 */
export const answerStream: StreamEndpoint<AnswerRequest, AnswerChunk> = {
  name: 'streamAnswer',
  endpoint: answerEndpoint,
  ask: asked,
  chunk: answerChunk,
  toChunk,
  knows: ofKinds('response'),
  ofUnknown,
  ofWhole,
  ending: ({ type, costDollars: cost, choices }) => {
    if (type === 'response') return 'complete';
    return cost || choices?.some(({ finish_reason }) => finish_reason) ? 'onClose' : null;
  },
  endsWithConnection: false,
};
