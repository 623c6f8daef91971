import { z } from 'zod';
import { date, oneOf, whole } from './fields.js';
import { outputSchema } from './schema-form.js';

const sections = z
  .array(oneOf('unspecified', 'header', 'navigation', 'banner', 'body', 'sidebar', 'footer', 'metadata'))
  .optional();

const textOptions = z.looseObject({
  maxCharacters: whole(1).optional(),
  includeHtmlTags: z.boolean().optional(),
  verbosity: oneOf('compact', 'standard', 'full').optional(),
  includeSections: sections,
  excludeSections: sections,
});

const highlightsOptions = z.looseObject({
  query: z.string().optional(),
  numSentences: whole(1).optional(),
  highlightsPerUrl: whole(1).optional(),
  maxCharacters: whole(1).optional(),
  verbosity: oneOf('low', 'medium', 'high').optional(),
  dynamic: z.boolean().optional(),
});

const summaryOptions = z.looseObject({
  query: z.string().optional(),
  schema: outputSchema.optional(),
  /** Only for monitors (API reference: /monitors). */
  maxTokens: whole(1).optional(),
});

const extrasOptions = z.looseObject({
  links: whole(0).optional(),
  imageLinks: whole(0).optional(),
  richImageLinks: whole(0).optional(),
  richLinks: whole(0).optional(),
  codeBlocks: whole(0).optional(),
});

/**
 * Content options (API reference: /contents): at the top of a contents request, and in `contents` of a search. Unknown values are sent
 * unchanged.
 */
export const contentsOptions = {
  text: z.union([z.boolean(), textOptions]).optional(),
  highlights: z.union([z.boolean(), highlightsOptions]).optional(),
  summary: z.union([z.boolean(), summaryOptions]).optional(),
  livecrawl: oneOf('never', 'fallback', 'always', 'preferred', 'auto').optional(),
  livecrawlTimeout: whole(0).optional(),
  /** -1: only cached pages. */
  maxAgeHours: whole(-1).optional(),
  snapshotAsOf: date.optional(),
  subpages: whole(0).optional(),
  subpageTarget: z.union([z.string(), z.array(z.string())]).optional(),
  extras: extrasOptions.optional(),
  filterEmptyResults: z.boolean().optional(),
  context: z.union([z.boolean(), z.looseObject({ maxCharacters: whole(1).optional() })]).optional(),
};

/** Content options as a field of another request. */
export const contents = z.union([z.boolean(), z.looseObject(contentsOptions)]).optional();

/** The beta token of highlights that share one budget (API reference: beta features). */
export function betaOfHighlights(options: unknown): readonly string[] {
  const found = z.looseObject({ highlights: z.looseObject({}) }).safeParse(options).data?.highlights;
  return found?.dynamic || found?.verbosity !== undefined ? ['dynamic-highlights-2026-08-28'] : [];
}
