import { z } from 'zod';
import { estimateContents } from '../../core/purchase/prices.js';
import { checkLength, checkUrl } from '../checks/check-url.js';
import { checkCount, firstProblem, problem } from '../checks/checks.js';
import { checkContentsOptions, contentsOptions } from '../checks/contents-options.js';
import { fieldOf } from '../checks/field-of.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';
import { commonAnswer, lacksResults } from '../schemas/result.js';
import { defineEndpoint } from '../wire/endpoint.js';

const contentsRequest = z.looseObject({
  urls: z.array(z.string()).optional(),
  /** Deprecated: ids of results of earlier searches, instead of `urls`. */
  ids: z.array(z.string()).optional(),
  ...contentsOptions,
  compliance: z.string().optional(),
  userIdentifier: z.string().optional(),
  flags: z.array(z.string()).optional(),
});

/** Request of `POST /contents`. Unknown fields reach the wire. */
export type ContentsRequest = z.infer<typeof contentsRequest>;

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

function checkContents(input: ContentsRequest, limits: ServiceLimits): LimitProblem | null {
  const { urls, ids, subpages } = input;
  if (urls && ids) return problem('ids', 'is combined with urls', 'only one of them is allowed', limits);
  const name = ids ? 'ids' : 'urls';
  const list = urls ?? ids;
  const check = ids ? checkLength : checkUrl;
  if (!list) return problem('urls', 'is missing', 'at least 1 URL is required', limits);
  return firstProblem(
    () => checkCount(name, list, 1, limits.maxUrls, limits),
    () => {
      for (let index = 0; index < list.length; index++) {
        const found = check(`${name}[${index}]`, list[index] ?? '', limits);
        if (found) return found;
      }
      return null;
    },
    () => checkContentsOptions(input, '', limits),
    () => checkSubpages(list.length, subpages ?? 0, limits),
  );
}

/** The live service caps the subpages of a whole request, not only the subpages of a page. */
function checkSubpages(pages: number, each: number, limits: ServiceLimits): LimitProblem | null {
  const max = limits.contents.subpages?.max ?? null;
  if (max === null || pages * each <= max) return null;
  return problem('subpages', `is ${each} for each of ${pages} URLs, ${pages * each} in all`, `at most ${max}`, limits);
}

/** Whether an answer names the errors of its URLs; then it needs no results. */
function hasErrors(answer: unknown): boolean {
  const statuses = fieldOf(answer, 'statuses');
  return Array.isArray(statuses) && statuses.some((one) => fieldOf(one, 'status') === 'error');
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
  check: checkContents,
  response: contentsResponse,
  lacks: (answer) => (hasErrors(answer) ? null : lacksResults(answer)),
  deprecated: { ids: 'use urls' },
});
