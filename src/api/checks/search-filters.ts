import { z } from 'zod';
import { contents, contentsOptions } from './contents-options.js';
import { date, oneOf, whole } from './fields.js';

const strings = z.array(z.string()).optional();

const location = z.looseObject({
  country: z.string().optional(),
  latitude: z.number().optional(),
  longitude: z.number().optional(),
});

/** Filters that search and findSimilar share (API reference: /search). Dates are ISO 8601. */
export const searchFilters = {
  category: oneOf(
    ...['company', 'people', 'news', 'publication', 'research paper', 'personal site', 'financial report'],
    ...['pdf', 'github', 'tweet', 'linkedin profile'],
  ).optional(),
  /** 1 to 100, default 10; some teams may ask for more. */
  numResults: whole(1).optional(),
  includeDomains: strings,
  excludeDomains: strings,
  startCrawlDate: date.optional(),
  endCrawlDate: date.optional(),
  startPublishedDate: date.optional(),
  endPublishedDate: date.optional(),
  includeText: strings,
  excludeText: strings,
  /** A two-letter ISO country code, or an object with `country`, `latitude` and `longitude`. */
  userLocation: z.union([z.string(), location]).optional(),
  context: contentsOptions.context,
  filterEmptyResults: contentsOptions.filterEmptyResults,
  contents,
  flags: strings,
};
