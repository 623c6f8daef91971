import { fraction, hashText } from '../base/hash.js';
import type { PageCounts } from '../ledger/prices.js';
import type { ContentsOptions, Wanted } from './contents-options.js';
import { hostOf, type Page, pageOf } from './page.js';
import { schemaValue } from './schema-value.js';

/** Settings that all pages share. */
export interface PageSettings {
  readonly seed: number;
  readonly textBytes: number;
}

/** One item of `results`. */
export type Result = Readonly<Record<string, unknown>> & { readonly url: string };

/** Makes the result of one URL, with the requested content only. */
export function resultOf(url: string, wanted: Wanted, options: ContentsOptions, settings: PageSettings): Result {
  const page = pageOf(url, settings.seed, settings.textBytes);
  const subpages = (options.subpages ?? 0) > 0 ? subpageUrls(url, options) : [];
  return {
    id: url,
    title: page.title,
    url,
    publishedDate: page.publishedDate,
    author: page.author,
    favicon: page.favicon,
    ...contentOf(page, url, wanted, settings.seed),
    ...(subpages.length > 0
      ? {
          subpages: subpages.map((one) =>
            resultOf(one, wanted, { ...options, subpages: 0, extras: undefined }, settings),
          ),
        }
      : {}),
    ...(options.extras ? { extras: extrasOf(url, options.extras) } : {}),
  };
}

/** Number of paid pages by kind of content. `pages`: number of results and subpages. */
export function countPages(wanted: Wanted, pages: number): PageCounts {
  return {
    text: wanted.text ? pages : 0,
    highlights: wanted.highlights ? pages : 0,
    summary: wanted.summary ? pages : 0,
  };
}

/** Number of pages of one result: the page itself and its subpages. */
export function pagesOf(options: ContentsOptions): number {
  return 1 + Math.min(options.subpages ?? 0, subpageLimit);
}

/** Joins the texts of all results for `context`. */
export function contextOf(results: readonly Result[], limit: number): string {
  const parts = results.map((one) => `Title: ${String(one.title)}\nURL: ${one.url}\n${String(one.text ?? '')}`);
  return parts.join('\n\n').slice(0, limit);
}

function contentOf(page: Page, url: string, wanted: Wanted, seed: number): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  if (wanted.text) content.text = page.text.slice(0, wanted.text.maxCharacters ?? Number.POSITIVE_INFINITY);
  if (wanted.highlights) Object.assign(content, highlightsOf(page.text, wanted.highlights, hashText(url, seed)));
  if (wanted.summary) {
    const { query, schema } = wanted.summary;
    const about = query === undefined ? '' : ` Asked about "${query}".`;
    content.summary = schema
      ? JSON.stringify(schemaValue(schema, hashText(url + (query ?? ''), seed)))
      : `${page.title}: ${sentencesOf(page.text)[0] ?? ''}${about}`;
  }
  return content;
}

function sentencesOf(text: string): string[] {
  return (
    text
      .match(/[^.\n]+\.?/g)
      ?.map((one) => one.trim())
      .filter((one) => one !== '') ?? []
  );
}

/**
 * Highlights of a text. Snippets that share most words with the query come first. The scores only imitate cosine similarities.
 */
function highlightsOf(text: string, options: NonNullable<Wanted['highlights']>, hash: number): Record<string, unknown> {
  const size = options.numSentences ?? 1;
  const all = sentencesOf(text);
  const snippets: string[] = [];
  for (let from = 0; from < all.length; from += size) snippets.push(all.slice(from, from + size).join(' '));
  const words = (options.query ?? '')
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word.length > 2);
  const hits = (snippet: string) => words.filter((word) => snippet.toLowerCase().includes(word)).length;
  const best = snippets
    .map((snippet) => ({ snippet, hits: hits(snippet) }))
    .sort((left, right) => right.hits - left.hits)
    .slice(0, options.highlightsPerUrl ?? 1);
  return {
    highlights: best.map(({ snippet }) => snippet.slice(0, options.maxCharacters ?? Number.POSITIVE_INFINITY)),
    highlightScores: best.map((_, index) => Math.round((0.9 - index * 0.05 - fraction(hash, 81) / 5) * 1e4) / 1e4),
  };
}

/** A limit of the service, which may return fewer subpages than requested. */
const subpageLimit = 10;

function subpageUrls(url: string, options: ContentsOptions): string[] {
  const target = options.subpageTarget ?? [];
  const terms = (typeof target === 'string' ? target.split(',') : target)
    .map((term) => term.trim())
    .filter((term) => term !== '');
  const base = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  return Array.from({ length: pagesOf(options) - 1 }, (_, index) => {
    const term = terms[index % Math.max(1, terms.length)] ?? 'page';
    return `${base}/${encodeURIComponent(term)}${index < terms.length ? '' : `-${index + 1}`}`;
  });
}

function extrasOf(url: string, { links, imageLinks }: NonNullable<ContentsOptions['extras']>): Record<string, unknown> {
  const list = (length: number, tail: string) =>
    Array.from({ length }, (_, index) => `https://${hostOf(url)}/${tail.replace('#', String(index + 1))}`);
  return {
    ...(links ? { links: list(links, 'link-#') } : {}),
    ...(imageLinks ? { imageLinks: list(imageLinks, 'image-#.png') } : {}),
  };
}
