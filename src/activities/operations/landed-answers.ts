import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { fieldOf } from '../../api/checks/field-of.js';
import { jsonSchemaOf } from '../../api/checks/misspelt-fields.js';
import { schemaProblems } from '../../core/check-value.js';
import { BodiesGone } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';
import type { CallDeps } from '../base/deps.js';
import { toFailure } from '../call/failure.js';
import type { CallOptions, OperationResult, Paid } from './buy.js';
import { checkOptions } from './whole-request.js';

/** The most keys of a reference. A call reads no more bodies than may fit. */
const MOST_KEYS = 10_000;
/** The largest result by default: what Temporal takes without external storage, less the fields around the answers. */
const MOST_BYTES = 2_000_000;
/** Keys that are read at once. */
const AT_ONCE = 100;

/** The input of `readAnswer`, and what it returns. */
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

/**
 * The largest result in bytes that is returned as a value; a larger result is returned as a reference. Without external storage, Temporal
 * refuses payloads of 2 MB, and the refusal would come after the payment.
 */
export const MAX_INLINE_BYTES = 1024 * 1024;

/**
 * Makes a result for Temporal: the value itself if it is small, otherwise a reference to the journal. Throws `ResultTooLarge` on a worker
 * without a record.
 */
export function packed<T>(
  { alone }: Pick<CallDeps, 'alone'>,
  data: T,
  keys: readonly string[],
  { requests, unknownOutcomes }: Paid,
  { maxInlineBytes = MAX_INLINE_BYTES }: CallOptions,
): OperationResult<T> {
  const paid = requests.filter(({ bought }) => bought);
  const costDollars = Math.round(paid.reduce((sum, share) => sum + share.costDollars, 0) * 1e6) / 1e6;
  const shown = { requests, costDollars, unknownOutcomes: unknownOutcomes || undefined };
  const json = JSON.stringify(data);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxInlineBytes) return { data, ...shown };
  if (!alone) return { landed: keys, bytes, preview: json.slice(0, 500), ...shown };
  const facts = { requestId: requests[0]?.requestId ?? null, costDollars, bytes };
  throw resultTooLarge(`The result has ${bytes} bytes`, 'The request was paid', maxInlineBytes, facts);
}

/** Returns the failure of a result that does not fit. `facts`: request id, cost and size, for programs. */
function resultTooLarge(what: string, paid: string, most: number, facts: object): ApplicationFailure {
  const message =
    `${what}, and at most ${most} fit. Ask for less (text.maxCharacters, numResults), ` +
    `or use Temporal's external storage with a higher maxInlineBytes. ${paid}`;
  return ApplicationFailure.nonRetryable(message, 'ResultTooLarge', facts);
}

/**
 * Throws `ResultTooLarge` on a worker without a record if the request asks for more text than fits, so that no answer is paid and lost. A
 * request without `maxCharacters` has no bound of its own, and passes.
 */
export function refuseTooLarge(
  { alone }: Pick<CallDeps, 'alone'>,
  input: object,
  { maxInlineBytes = MAX_INLINE_BYTES }: CallOptions,
): void {
  const characters = alone ? mostCharacters(input) : 0;
  if (characters <= maxInlineBytes) return;
  const facts = { requestId: null, costDollars: 0, bytes: characters };
  const what = `The request asks for up to ${characters} characters of text`;
  throw resultTooLarge(what, 'Nothing was sent', maxInlineBytes, facts);
}

/** Number of results of a search without `numResults` (API reference: /search). */
const USUAL_RESULTS = 10;

/** The characters of page texts that a request asks for at most, by its own bounds; 0 without a bound. */
function mostCharacters(input: object): number {
  const { urls, ids, numResults, contents = input } = input as Readonly<Record<string, unknown>>;
  const { text, highlights, context, subpages } = (contents ?? {}) as Readonly<Record<string, unknown>>;
  const list = [urls, ids].find(Array.isArray);
  const pages = list ? list.length : typeof numResults === 'number' ? numResults : USUAL_RESULTS;
  const perPage = charactersOf(text) + charactersOf(highlights);
  return pages * (1 + (typeof subpages === 'number' ? subpages : 0)) * perPage + charactersOf(context);
}

/** The bound of a part of an answer, `{ maxCharacters }`; 0 without one. */
function charactersOf(part: unknown): number {
  const most = fieldOf(part, 'maxCharacters');
  return typeof most === 'number' ? most : 0;
}
