import { ApplicationFailure } from '@temporalio/common';
import { fieldOf } from '../../api/checks/field-of.js';
import type { CallDeps } from '../base/deps.js';
import type { CallOptions, OperationResult, Paid } from './buy.js';

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
export function resultTooLarge(what: string, paid: string, most: number, facts: object): ApplicationFailure {
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
