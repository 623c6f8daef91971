import type { Settings } from '../base/options.js';
import { authorOf, choose, fraction, hashText, mix, sentences, titleOf } from '../base/sentences.js';

const firstDay = Date.UTC(2015, 0, 1);
const tenYearsMs = 10 * 365 * 86_400_000;

/** The host of a URL, or the text itself up to the first slash. */
export function hostOf(url: string): string {
  const start = url.indexOf('://');
  const [host = ''] = url.slice(start < 0 ? 0 : start + 3).split(/[/?#]/, 1);
  return host;
}

/**
 * Page text of 0.5 to 1.5 times `textBytes`, in whole sentences. As on the real web, some texts are hostile: one page in forty
 * begins with a spreadsheet formula, and another one in forty has terminal escapes.
 */
function textOf(hash: number, textBytes: number): string {
  const length = textBytes * (0.5 + fraction(hash, 41));
  const hostile = ['=HYPERLINK("https://evil.example/","click") ', '\u001b[31mSALE\u001b[0m '];
  let text = hostile[mix(hash, 42) % 40] ?? '';
  for (let salt = 100; text.length < length; salt += 1) {
    text += `${choose(sentences, hash, salt)}${salt % 5 === 4 ? '\n' : ' '}`;
  }
  return text.trimEnd();
}

/** The date of a page, in 2015 to 2024. One page in ten has none. */
function dateOf(hash: number): string | undefined {
  if (mix(hash, 43) % 10 === 0) return undefined;
  return new Date(firstDay + Math.floor(fraction(hash, 44) * tenYearsMs)).toISOString();
}

/** A made-up web page: all of its content follows from its URL and the seed. */
export function pageOf(url: string, seed: number, textBytes = 1) {
  const hash = hashText(url, seed);
  const host = hostOf(url);
  return {
    title: titleOf(hash, host),
    author: authorOf(hash),
    publishedDate: dateOf(hash),
    favicon: `https://${host}/favicon.ico`,
    text: textOf(hash, textBytes),
  };
}

/** The filters that the stand-in index supports. `includeText` is not supported, because no made-up page would match it. */
type SearchFilters = { readonly query: string } & Partial<
  Record<'includeDomains' | 'excludeDomains' | 'excludeText', readonly string[]> &
    Record<'startPublishedDate' | 'endPublishedDate', string>
>;

/** Hosts under the reserved top-level domain, which no one owns. */
const hosts = [
  ...['harbour-review.example', 'northwind-labs.example', 'paper-and-ink.example', 'city-archive.example'],
  ...['open-catalogue.example', 'field-notes.example', 'radio-parts.example', 'long-winter.example'],
];

/**
 * Finds URLs for a query: always the same URLs in the same order, each once. Twenty candidates are tried for each requested
 * result. So strict filters may leave fewer results than requested.
 */
export function findUrls(filters: SearchFilters, asked: number, options: Settings): string[] {
  const slug = slugOf(filters.query);
  const base = hashText(filters.query, options.seed);
  const domains = filters.includeDomains?.length ? filters.includeDomains : hosts;
  const found: string[] = [];
  for (let index = 0; index < asked * 20 && found.length < asked; index += 1) {
    const domain = choose(domains, mix(base, index), 95).replace(/^\*\./, '').replace(/\/+$/, '');
    const url = `https://${domain}/${slug}-${index + 1}`;
    if (passes(url, filters, options)) found.push(url);
  }
  return found;
}

function slugOf(query: string): string {
  const words = query.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
  // The text is cut between letters, not between code units, because half of a surrogate pair cannot be encoded.
  return encodeURIComponent([...words.replace(/^-|-$/g, '')].slice(0, 60).join('')) || 'page';
}

function passes(url: string, filters: SearchFilters, { seed, textBytes }: Settings): boolean {
  const host = hostOf(url);
  const isExcluded = (domain: string) => host === domain || host.endsWith(`.${domain.replace(/^\*\./, '')}`);
  if (filters.excludeDomains?.some(isExcluded)) return false;
  const hash = hashText(url, seed);
  const { startPublishedDate: start, endPublishedDate: end } = filters;
  if (start !== undefined || end !== undefined) {
    const published = Date.parse(dateOf(hash) ?? '');
    if (!(published >= Date.parse(start ?? '0001-01-01') && published <= Date.parse(end ?? '9999-12-31'))) return false;
  }
  const banned = filters.excludeText?.[0];
  return banned === undefined || !textOf(hash, textBytes).toLowerCase().includes(banned.toLowerCase());
}
