import { z } from 'zod';
import { checkCount, checkDate, checkRange, firstProblem, problem, shown } from './checks.js';
import { checkContentsOptions, contentsOptions } from './contents-options.js';
import type { LimitProblem, ServiceLimits } from './limits.js';

const strings = z.array(z.string()).optional();
const date = z.string().optional();

/** Filters that search and findSimilar share (API reference: /search). Dates are ISO 8601. */
export const searchFilters = {
  category: z.string().optional(),
  /** 1 to 100, default 10. */
  numResults: z.number().optional(),
  includeDomains: strings,
  excludeDomains: strings,
  startCrawlDate: date,
  endCrawlDate: date,
  startPublishedDate: date,
  endPublishedDate: date,
  includeText: strings,
  excludeText: strings,
  context: contentsOptions.context,
  contents: z.looseObject(contentsOptions).optional(),
  flags: strings,
};

const filterShape = z.looseObject(searchFilters);
type SearchFilters = z.infer<typeof filterShape>;

function checkTextFilter(
  field: string,
  list: readonly string[] | undefined,
  limits: ServiceLimits,
): LimitProblem | null {
  const tooMany = checkCount(field, list, 0, limits.maxTextFilters, limits);
  if (tooMany || limits.maxTextFilterWords === null) return tooMany;
  const max = limits.maxTextFilterWords;
  for (const filter of list ?? []) {
    const words = filter.split(/\s+/).filter((word) => word !== '').length;
    if (words > max) return problem(field, `is ${shown(filter)} with ${words} words`, `at most ${max} words`, limits);
  }
  return null;
}

function checkCategory(input: SearchFilters, limits: ServiceLimits): LimitProblem | null {
  const { category } = input;
  if (category === undefined || !limits.plainCategories.includes(category)) return null;
  for (const field of ['startPublishedDate', 'endPublishedDate', 'excludeDomains'] as const) {
    if (input[field] !== undefined) {
      return problem(field, `is combined with category ${shown(category)}`, 'that category does not allow it', limits);
    }
  }
  return null;
}

/** Checks the filters against the limits of the service. */
export function checkFilters(input: SearchFilters, limits: ServiceLimits): LimitProblem | null {
  const dates = ['startCrawlDate', 'endCrawlDate', 'startPublishedDate', 'endPublishedDate'] as const;
  return firstProblem(
    () => checkRange('numResults', input.numResults, limits.numResults, limits),
    () => checkCount('includeDomains', input.includeDomains, 0, limits.maxDomains, limits),
    () => checkCount('excludeDomains', input.excludeDomains, 0, limits.maxDomains, limits),
    () => checkTextFilter('includeText', input.includeText, limits),
    () => checkTextFilter('excludeText', input.excludeText, limits),
    ...dates.map((field) => () => checkDate(field, input[field], limits)),
    () => checkCategory(input, limits),
    () => checkContentsOptions(input.contents ?? {}, 'contents.', limits),
  );
}
