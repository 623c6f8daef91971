import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { jsonSchemaOf } from '../../api/checks/misspelt-fields.js';
import { schemaProblems } from '../../core/check-value.js';
import { BodiesGone } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';
import type { CallDeps } from '../base/deps.js';
import { toFailure } from '../call/failure.js';
import type { CallOptions, OperationResult } from './buy.js';
import { resultTooLarge } from './buy.js';
import { checkOptions } from './whole-request.js';

/** The most keys of a reference. A call reads no more bodies than may fit. */
const MOST_KEYS = 10_000;
/** The largest result by default: what Temporal takes without external storage, less the fields around the answers. */
const MOST_BYTES = 2_000_000;
/** Keys that are read at once. */
const AT_ONCE = 100;

export const readAnswerSchemas = {
  request: z.strictObject({
    landed: z
      .array(z.string().regex(/^[0-9a-f]{16,64}$/))
      .min(1)
      .max(MOST_KEYS) as z.ZodType as z.ZodType<readonly string[]>,
  }),
  response: z.object({
    answers: z.array(
      z.object({
        unit: z.string(),
        status: z.enum(['success', 'error']),
        tag: z.string().nullable(),
        data: z.custom<Json>(),
      }),
    ),
    next: z.array(z.string()),
  }),
};

/**
 * Landed answers, in the order of the keys. `unit`: its URL, or its request as JSON; `tag`: that of a failure, null for a success; `next`:
 * the keys whose answers did not fit, for the next call.
 */
export type LandedAnswers = z.infer<typeof readAnswerSchemas.response>;

/**
 * `readAnswer`: reads an answer that was too large for a history by the keys of its reference (`landed`), from the record, so on any worker
 * with that record. It sends nothing. Returns as many answers as fit. Fails as `ResultTooLarge` if the first one alone does not fit, and as
 * `BodiesGone` if an answer is no longer in the record.
 */
export function createReadAnswer({ journal }: Pick<CallDeps, 'journal'>) {
  return async function readAnswer(
    input: z.infer<typeof readAnswerSchemas.request>,
    call: CallOptions = {},
  ): Promise<OperationResult<LandedAnswers>> {
    const problems = schemaProblems('readAnswer', input, jsonSchemaOf(readAnswerSchemas.request));
    if (problems.length > 0) throw ApplicationFailure.nonRetryable(problems.join(' '), 'InvalidRequest');
    checkOptions(call);
    const { landed } = input;
    const { maxInlineBytes = MOST_BYTES } = call;
    const answers: LandedAnswers['answers'] = [];
    const done = () => ({ data: { answers, next: landed.slice(answers.length) }, requests: [], costDollars: 0 });
    let bytes = 0;
    for (let from = 0; from < landed.length; from += AT_ONCE) {
      const keys = landed.slice(from, from + AT_ONCE);
      const found = await journal.read(keys);
      for (const key of keys) {
        const record = found.get(key);
        if (!record) throw toFailure(new BodiesGone([key], 'call the operation with { refreshAfterMs: 0 }'));
        const { unit, status, error_tag: tag, result: data, request_id: requestId } = record;
        const answer = { unit, status, tag, data };
        const size = Buffer.byteLength(JSON.stringify(answer));
        if (bytes + size > maxInlineBytes && answers.length > 0) return done();
        const facts = { requestId, bytes: size };
        if (size > maxInlineBytes)
          throw resultTooLarge(`The answer has ${size} bytes`, 'Nothing was bought', maxInlineBytes, facts);
        answers.push(answer);
        bytes += size;
      }
    }
    return done();
  };
}
