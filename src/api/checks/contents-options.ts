import { z } from 'zod';
import { checkCount, checkDate, checkRange, firstProblem, problem, shown } from './checks.js';
import { fieldOf } from './field-of.js';
import type { LimitProblem, ServiceLimits } from './limits.js';
import { checkSchemaForm } from './schema-form.js';

const textOptions = z.looseObject({
  maxCharacters: z.number().optional(),
  includeHtmlTags: z.boolean().optional(),
  verbosity: z.string().optional(),
  includeSections: z.array(z.string()).optional(),
  excludeSections: z.array(z.string()).optional(),
});

const highlightsOptions = z.looseObject({
  query: z.string().optional(),
  numSentences: z.number().optional(),
  highlightsPerUrl: z.number().optional(),
  maxCharacters: z.number().optional(),
  verbosity: z.string().optional(),
  dynamic: z.boolean().optional(),
});

const summaryOptions = z.looseObject({
  query: z.string().optional(),
  schema: z.looseObject({}).optional(),
  /** Only for monitors (API reference: /monitors). */
  maxTokens: z.number().optional(),
});

const extrasOptions = z.looseObject({
  links: z.number().optional(),
  imageLinks: z.number().optional(),
  richImageLinks: z.number().optional(),
  richLinks: z.number().optional(),
  codeBlocks: z.number().optional(),
});

/**
 * Content options (API reference: /contents): at the top of a contents request, and in `contents` of a search. Unknown values are sent
 * unchanged.
 */
export const contentsOptions = {
  text: z.union([z.boolean(), textOptions]).optional(),
  highlights: z.union([z.boolean(), highlightsOptions]).optional(),
  summary: z.union([z.boolean(), summaryOptions]).optional(),
  livecrawl: z.string().optional(),
  livecrawlTimeout: z.number().optional(),
  maxAgeHours: z.number().optional(),
  snapshotAsOf: z.string().optional(),
  subpages: z.number().optional(),
  subpageTarget: z.union([z.string(), z.array(z.string())]).optional(),
  extras: extrasOptions.optional(),
  filterEmptyResults: z.boolean().optional(),
  context: z.union([z.boolean(), z.looseObject({ maxCharacters: z.number().optional() })]).optional(),
};

/** Checks the numbers among the content options. `prefix` is their path, such as `contents.`. */
export function checkContentsOptions(options: object, prefix: string, limits: ServiceLimits): LimitProblem | null {
  for (const [path, range] of Object.entries(limits.contents)) {
    const found = checkRange(prefix + path, at(options, path), range, limits);
    if (found) return found;
  }
  return firstProblem(
    () => checkSubpageTarget(options, prefix, limits),
    () => checkLivecrawl(options, prefix, limits),
    () => checkSchemaForm(`${prefix}summary.schema`, at(options, 'summary.schema'), limits),
    () => checkExclusions(options, prefix, limits),
    () => {
      const date = at(options, 'snapshotAsOf');
      return typeof date === 'string' ? checkDate(`${prefix}snapshotAsOf`, date, limits) : null;
    },
  );
}

/** Checks `livecrawl` against a list of values. The list is complete, because the service adds no values to a deprecated option. */
function checkLivecrawl(options: object, prefix: string, limits: ServiceLimits): LimitProblem | null {
  const value = at(options, 'livecrawl');
  if (typeof value !== 'string' || limits.livecrawl.includes(value)) return null;
  return problem(
    `${prefix}livecrawl`,
    `is ${shown(value)}`,
    `it must be one of ${limits.livecrawl.join(', ')}`,
    limits,
  );
}

function checkExclusions(options: object, prefix: string, limits: ServiceLimits): LimitProblem | null {
  for (const [name, others] of Object.entries(limits.contentsExclude)) {
    const other = others.find((one) => at(options, one) !== undefined);
    if (at(options, name) === undefined || other === undefined) continue;
    return problem(prefix + other, `is combined with ${prefix}${name}`, 'only one of them is allowed', limits);
  }
  return null;
}

function checkSubpageTarget(options: object, prefix: string, limits: ServiceLimits): LimitProblem | null {
  const max = limits.maxSubpageTarget;
  const value = at(options, 'subpageTarget');
  if (max === null || value === undefined) return null;
  const field = `${prefix}subpageTarget`;
  const targets: readonly unknown[] = Array.isArray(value) ? value : [value];
  const long = targets.find((target) => typeof target === 'string' && target.length > max.length);
  return firstProblem(
    () => checkCount(field, targets, 0, max.entries, limits),
    () =>
      long === undefined ? null : problem(field, `holds ${shown(long)}`, `at most ${max.length} characters`, limits),
  );
}

function at(options: object, path: string): unknown {
  let value: unknown = options;
  for (const name of path.split('.')) {
    value = fieldOf(value, name);
  }
  return value;
}
