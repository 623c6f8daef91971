import { choose, hashText, mix } from '../base/hash.js';
import { dateOf, hostOf, textOf } from './page.js';
import type { PageSettings } from './result.js';

/** The filters that the stand-in index supports. `includeText` is not supported, because no made-up page would match it. */
export interface SearchFilters {
  readonly query: string;
  readonly includeDomains?: readonly string[] | undefined;
  readonly excludeDomains?: readonly string[] | undefined;
  readonly startPublishedDate?: string | undefined;
  readonly endPublishedDate?: string | undefined;
  readonly excludeText?: readonly string[] | undefined;
}

/** Hosts under the reserved top-level domain, which no one owns. */
const hosts = [
  'harbour-review.example',
  'northwind-labs.example',
  'paper-and-ink.example',
  'city-archive.example',
  'open-catalogue.example',
  'field-notes.example',
  'radio-parts.example',
  'long-winter.example',
];

/**
 * Finds URLs for a query: always the same URLs in the same order, each once. Twenty candidates are tried for each requested
 * result. So strict filters may leave fewer results than requested.
 */
export function findUrls(filters: SearchFilters, asked: number, { seed, textBytes }: PageSettings): string[] {
  const slug = slugOf(filters.query);
  const base = hashText(filters.query, seed);
  const domains = filters.includeDomains?.length ? filters.includeDomains : hosts;
  const found: string[] = [];
  for (let index = 0; index < asked * 20 && found.length < asked; index += 1) {
    const domain = choose(domains, mix(base, index), 95).replace(/^\*\./, '').replace(/\/+$/, '');
    const url = `https://${domain}/${slug}-${index + 1}`;
    if (passes(url, filters, seed, textBytes)) found.push(url);
  }
  return found;
}

function slugOf(query: string): string {
  const words = query
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
  // The text is cut between letters, not between code units, because half of a surrogate pair cannot be encoded.
  return encodeURIComponent([...words].slice(0, 60).join('')) || 'page';
}

function passes(url: string, filters: SearchFilters, seed: number, textBytes: number): boolean {
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
