import type { Settings } from '../base/options.js';
import { fraction, hashText } from '../base/sentences.js';
import type { PageCounts } from '../ledger/prices.js';
import { asked, type ContentsOptions, type Wanted } from './contents-options.js';
import { hostOf, pageOf } from './page.js';
import { schemaValue } from './schema-value.js';

export type Result = Readonly<Record<string, unknown>> & { readonly url: string };

export function resultOf(url: string, wanted: Wanted, options: ContentsOptions, settings: Settings): Result {
  const { title, publishedDate, author, favicon, text } = pageOf(url, settings.seed, settings.textBytes);
  const result: Record<string, unknown> & Result = { id: url, title, url, publishedDate, author, favicon };
  if (wanted.text) result.text = text.slice(0, wanted.text.maxCharacters);
  if (wanted.highlights) Object.assign(result, highlightsOf(text, wanted.highlights, hashText(url, settings.seed)));
  if (wanted.summary) result.summary = summaryOf(url, title, text, wanted.summary, settings.seed);
  if (options.subpages) {
    const ofSubpages = { ...options, subpages: 0, extras: undefined };
    result.subpages = subpageUrls(url, options).map((one) => resultOf(one, wanted, ofSubpages, settings));
  }
  if (options.extras) result.extras = extrasOf(url, options.extras);
  return result;
}

/** Number of paid pages by kind of content. `pages`: number of results and subpages. */
export function countPages(wanted: Wanted, pages: number): PageCounts {
  const count = (option: object | null) => (option ? pages : 0);
  return { text: count(wanted.text), highlights: count(wanted.highlights), summary: count(wanted.summary) };
}

export function pagesOf({ subpages = 0 }: ContentsOptions): number {
  return 1 + Math.min(subpages, subpageLimit);
}

/** Joins the texts of all results, if `context` was requested. */
export function contextOf(results: readonly Result[], context: ContentsOptions['context']): string | undefined {
  const parts = results.map(({ title, url, text = '' }) => `Title: ${title}\nURL: ${url}\n${text}`);
  const options = asked(context);
  return options ? parts.join('\n\n').slice(0, options.maxCharacters ?? 10_000) : undefined;
}

function summaryOf(
  url: string,
  title: string,
  text: string,
  { query, schema }: NonNullable<Wanted['summary']>,
  seed: number,
): string {
  if (schema) return JSON.stringify(schemaValue(schema, hashText(url + (query ?? ''), seed)));
  const about = query === undefined ? '' : ` Asked about "${query}".`;
  return `${title}: ${sentencesOf(text)[0] ?? ''}${about}`;
}

function sentencesOf(text: string): string[] {
  const found = text.match(/[^.\n]+\.?/g) ?? [];
  return found.map((one) => one.trim()).filter((one) => one !== '');
}

/** Highlights of a text. Snippets that share most words with the query come first. The scores only imitate cosine similarities. */
function highlightsOf(text: string, options: NonNullable<Wanted['highlights']>, hash: number) {
  const { numSentences: size = 1, highlightsPerUrl = 1, query = '', maxCharacters } = options;
  const all = sentencesOf(text);
  const snippets = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size).join(' '),
  );
  const words = query.toLowerCase().split(/\W+/);
  const isHit = (snippet: string) => (word: string) => word.length > 2 && snippet.toLowerCase().includes(word);
  const best = snippets
    .map((snippet) => ({ snippet, hits: words.filter(isHit(snippet)).length }))
    .sort((left, right) => right.hits - left.hits)
    .slice(0, highlightsPerUrl);
  return {
    highlights: best.map(({ snippet }) => snippet.slice(0, maxCharacters)),
    highlightScores: best.map((_, index) => Math.round((0.9 - index * 0.05 - fraction(hash, 81) / 5) * 1e4) / 1e4),
  };
}

/** A limit of the service, which may return fewer subpages than requested. */
const subpageLimit = 10;

function subpageUrls(url: string, options: ContentsOptions): string[] {
  const targets = [options.subpageTarget ?? []].flat().flatMap((target) => target.split(','));
  const terms = targets.map((term) => term.trim()).filter((term) => term !== '');
  const base = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  return Array.from({ length: pagesOf(options) - 1 }, (_, index) => {
    const term = terms[index % Math.max(1, terms.length)] ?? 'page';
    return `${base}/${encodeURIComponent(term)}${index < terms.length ? '' : `-${index + 1}`}`;
  });
}

function extrasOf(url: string, { links, imageLinks }: NonNullable<ContentsOptions['extras']>): Record<string, unknown> {
  const list = (length: number | undefined, ending: string) =>
    length
      ? Array.from({ length }, (_, index) => `https://${hostOf(url)}/${ending.replace('#', String(index + 1))}`)
      : undefined;
  return { links: list(links, 'link-#'), imageLinks: list(imageLinks, 'image-#.png') };
}
