import { z } from 'zod';
import { contentsOptionsSchema } from '../pages/contents-options.js';

const domains = z.array(z.string().min(1)).max(1200).optional();
const date = z.iso.datetime({ offset: true }).or(z.iso.date()).optional();
const phrase = z
  .array(z.string().refine((text) => text.trim().split(/\s+/).length <= 5, 'at most 5 words'))
  .max(1)
  .optional();

const country = z.string().regex(/^[A-Za-z]{2}$/, 'a two-letter country code');

/** `userLocation`: a country, or a location object as newer clients send it. */
export const userLocationSchema = z
  .union([country, z.looseObject({ country: country.optional(), latitude: z.number().optional() })])
  .optional();

/** Fields that `/search` and `/findSimilar` share. */
export const searchFilters = {
  category: z.string().optional(),
  numResults: z.number().int().min(1).optional(),
  includeDomains: domains,
  excludeDomains: domains,
  startCrawlDate: date,
  endCrawlDate: date,
  startPublishedDate: date,
  endPublishedDate: date,
  includeText: phrase,
  excludeText: phrase,
  context: contentsOptionsSchema.shape.context,
  moderation: z.boolean().optional(),
  contents: contentsOptionsSchema.optional(),
};
