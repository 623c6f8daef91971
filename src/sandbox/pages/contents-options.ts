import { z } from 'zod';
import { canonicalJson } from '../../core/text/json.js';

const count = z.number().int().min(1).optional();
const maxCharacters = z.number().int().min(1).max(1_000_000).optional();
const extra = z.number().int().min(0).max(1000).optional();
/** A kind of content: requested or not, with its options. */
const kind = <T extends z.ZodRawShape>(options: T) => z.union([z.boolean(), z.looseObject(options)]).optional();

/** Content options: on top level in `/contents`, under `contents` in `/search`. Unknown fields are accepted. */
export const contentsOptions = z.looseObject({
  text: kind({ maxCharacters }),
  highlights: kind({ query: z.string().optional(), numSentences: count, highlightsPerUrl: count, maxCharacters }),
  summary: kind({ query: z.string().optional(), schema: z.record(z.string(), z.unknown()).optional() }),
  livecrawl: z.enum(['never', 'fallback', 'always', 'preferred', 'auto']).optional(),
  livecrawlTimeout: z.number().positive().max(90_000).optional(),
  maxAgeHours: z.number().int().min(-1).max(720).optional(),
  subpages: z.number().int().min(0).max(100).optional(),
  subpageTarget: z.union([z.string().min(1).max(100), z.array(z.string().min(1)).max(100)]).optional(),
  extras: z.looseObject({ links: extra, imageLinks: extra }).optional(),
  context: kind({ maxCharacters }),
});

export type ContentsOptions = z.infer<typeof contentsOptions>;

type Asked<Name extends 'text' | 'highlights' | 'summary'> = Exclude<ContentsOptions[Name], boolean | undefined>;

/** The content that is made for each page, with its options; null: not requested. */
export type Wanted = { readonly [Name in 'text' | 'highlights' | 'summary']: Asked<Name> | null };

export function wantedOf({ text, highlights, summary }: ContentsOptions): Wanted {
  return { text: asked(text), highlights: asked(highlights), summary: asked(summary) };
}

/** The options of a requested kind of content; null if the kind was not requested. */
export function asked<T extends object>(option: T | boolean | undefined): T | Record<string, never> | null {
  if (option === undefined || option === false) return null;
  return option === true ? {} : option;
}

/** Fields that select the units, or that do not change the content. */
const outside = new Set(['urls', 'ids', 'livecrawlTimeout', 'userIdentifier']);

/** The options that distinguish purchases, as a JSON text. Empty for a request for page text only, without other options. */
export function purchaseOptions(input: Readonly<Record<string, unknown>>): string {
  const kept = Object.entries(input).filter(([name, value]) => !outside.has(name) && value !== false && value !== null);
  const isPlain = kept.every(([name, value]) => name === 'text' && value === true);
  return isPlain ? '' : canonicalJson(Object.fromEntries(kept));
}
