import { z } from 'zod';
import { estimateAnswer } from '../../core/purchase/prices.js';
import { toDollars } from '../../core/text/money.js';
import { checkInput, Refusal } from '../base/refusal.js';
import { hashText, mix } from '../base/sentences.js';
import { DONE_FRAME, sseFrame } from '../base/sse.js';
import { prices } from '../ledger/ledger.js';
import { requestPurchase } from '../ledger/log-file.js';
import { findUrls, resultOf } from '../pages/result.js';
import { schemaProblem } from '../pages/schema-value.js';
import { piecesOf, writeAbout } from '../pages/synthesis.js';
import { type Frames, jsonWork, type Route, type RouteContext } from '../route.js';
import { userLocationSchema } from './search.js';

/** Micro-dollars of an answer. */
const ANSWER_MICROS = estimateAnswer(prices);

const schema = z.looseObject({
  query: z.string().min(1),
  stream: z.boolean().optional(),
  text: z.boolean().optional(),
  model: z.enum(['exa', 'exa-pro', 'exa-research', 'exa-fast']).optional(),
  systemPrompt: z.string().optional(),
  userLocation: userLocationSchema.nullable(),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
});

/**
 * `POST /answer`: answers a question, with citations. With a schema the answer is an object. The answer is streamed if the request asks for
 * a stream.
 */
export const answer: Route = (input, context) => {
  const body = checkInput(schema, input);
  const problem = body.outputSchema ? schemaProblem(body.outputSchema) : null;
  if (problem !== null) throw new Refusal(400, 'INVALID_JSON_SCHEMA', `Invalid request body: outputSchema: ${problem}`);
  return (requestId) => {
    const content = writeAbout(body.query, body.outputSchema ?? null, context.options.seed);
    const citations = citationsOf(body.query, body.text ?? false, context);
    const costDollars = { total: toDollars(ANSWER_MICROS) };
    const { stream: _, ...unit } = input as Record<string, unknown>;
    const purchase = requestPurchase('answer', unit, ANSWER_MICROS);
    if (body.stream) return { body: answerFrames(requestId, content, citations, costDollars), purchase };
    return jsonWork({ requestId, answer: content, citations, costDollars }, { purchase });
  };
};

function citationsOf(query: string, withText: boolean, { options }: RouteContext): readonly unknown[] {
  const wanted = { text: withText ? {} : null, highlights: null, summary: null };
  return findUrls({ query }, 3 + (mix(hashText(query, options.seed), 141) % 5), options).map((url) =>
    resultOf(url, wanted, {}, options),
  );
}

/** The chunks of a streamed answer: text, citations, cost, `[DONE]`. */
function answerFrames(
  requestId: string,
  content: unknown,
  citations: readonly unknown[],
  costDollars: unknown,
): Frames {
  return function* frames() {
    const chunk = (delta: object, finish_reason: string | null) =>
      sseFrame({ id: requestId, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
    yield chunk({ role: 'assistant', content: '' }, null);
    for (const piece of piecesOf(content)) yield chunk({ content: piece }, null);
    yield chunk({}, 'stop');
    yield sseFrame({ citations });
    yield sseFrame({ costDollars, requestId });
    yield DONE_FRAME;
  };
}
