import { z } from 'zod';
import { canonicalJson } from '../../core/text/json.js';

const count = z.number().int().min(1);
const characters = z.number().int().min(1).max(1_000_000);
const extra = z.number().int().min(0).max(1000).optional();

/** Content options: on top level in `/contents`, under `contents` in `/search`. Unknown fields are accepted. */
export const contentsOptionsSchema = z.looseObject({
  text: z.union([z.boolean(), z.looseObject({ maxCharacters: characters.optional() })]).optional(),
  highlights: z
    .union([
      z.boolean(),
      z.looseObject({
        query: z.string().optional(),
        numSentences: count.optional(),
        highlightsPerUrl: count.optional(),
        maxCharacters: characters.optional(),
      }),
    ])
    .optional(),
  summary: z
    .union([
      z.boolean(),
      z.looseObject({ query: z.string().optional(), schema: z.record(z.string(), z.unknown()).optional() }),
    ])
    .optional(),
  livecrawl: z.enum(['never', 'fallback', 'always', 'preferred', 'auto']).optional(),
  livecrawlTimeout: z.number().positive().max(90_000).optional(),
  maxAgeHours: z.number().int().min(-1).max(720).optional(),
  subpages: z.number().int().min(0).max(100).optional(),
  subpageTarget: z.union([z.string().min(1).max(100), z.array(z.string().min(1)).max(100)]).optional(),
  extras: z.looseObject({ links: extra, imageLinks: extra }).optional(),
  context: z.union([z.boolean(), z.looseObject({ maxCharacters: characters.optional() })]).optional(),
});

export type ContentsOptions = z.infer<typeof contentsOptionsSchema>;

type Asked<Name extends 'text' | 'highlights' | 'summary'> = Exclude<ContentsOptions[Name], boolean | undefined>;

/** The content that is made for each page: the options of the request with the service's defaults. */
export type Wanted = { readonly [Name in 'text' | 'highlights' | 'summary']: Asked<Name> | null };

/** `orText`: if the request names no kind of content, text is returned, as in `/contents`. */
export function wantedOf(options: ContentsOptions, orText: boolean): Wanted {
  const asked = {
    text: whenAsked(options.text),
    highlights: whenAsked(options.highlights),
    summary: whenAsked(options.summary),
  };
  const none = !asked.text && !asked.highlights && !asked.summary;
  return none && orText ? { ...asked, text: {} } : asked;
}

function whenAsked<T extends object>(option: T | boolean | undefined): T | Record<string, never> | null {
  if (option === undefined || option === false) return null;
  return option === true ? {} : option;
}

/** Fields that select the units, or that do not change the content. */
const outside = new Set(['urls', 'ids', 'livecrawlTimeout', 'userIdentifier']);

/** The options that distinguish purchases, as a JSON text. Empty for a request for page text only, without other options. */
export function purchaseOptions(input: Readonly<Record<string, unknown>>): string {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    if (!outside.has(name) && value !== false && value !== null) kept[name] = value;
  }
  const names = Object.keys(kept);
  const plain = names.length === 0 || (names.length === 1 && kept.text === true);
  return plain ? '' : canonicalJson(kept);
}

/** The limit of `context`, in characters; null if it was not requested. */
export function contextLimit(context: ContentsOptions['context']): number | null {
  if (context === undefined || context === false) return null;
  return (context === true ? undefined : context.maxCharacters) ?? 10_000;
}
