import { fraction, hashText, mix } from '../base/hash.js';
import { authorOf, sentences, titleOf } from '../base/sentences.js';

/** A made-up web page: all of its content follows from its URL and the seed. */
export interface Page {
  readonly title: string;
  /** Missing on one page in five. */
  readonly author: string | undefined;
  /** ISO 8601, 2015 to 2024; missing on one page in ten. */
  readonly publishedDate: string | undefined;
  readonly favicon: string;
  readonly text: string;
}

const firstDay = Date.UTC(2015, 0, 1);
const tenYearsMs = 10 * 365 * 86_400_000;

/** The host of a URL, or the text itself up to the first slash. */
export function hostOf(url: string): string {
  const start = url.indexOf('://');
  const rest = start < 0 ? url : url.slice(start + 3);
  const end = rest.search(/[/?#]/);
  return end < 0 ? rest : rest.slice(0, end);
}

/**
 * Page text of 0.5 to 1.5 times `textBytes`, in whole sentences. As on the real web, some texts are hostile: one page in forty
 * begins with a spreadsheet formula, and another one in forty has terminal escapes.
 */
export function textOf(hash: number, textBytes: number): string {
  const length = textBytes * (0.5 + fraction(hash, 41));
  const dress = mix(hash, 42) % 40;
  let text =
    dress === 0 ? '=HYPERLINK("https://evil.example/","click") ' : dress === 1 ? '\u001b[31mSALE\u001b[0m ' : '';
  for (let salt = 100; text.length < length; salt += 1) {
    text += `${sentences[mix(hash, salt) % sentences.length]}${salt % 5 === 4 ? '\n' : ' '}`;
  }
  return text.trimEnd();
}

/** The date of a page, or none. */
export function dateOf(hash: number): string | undefined {
  if (mix(hash, 43) % 10 === 0) return undefined;
  return new Date(firstDay + Math.floor(fraction(hash, 44) * tenYearsMs)).toISOString();
}

/** Makes the page of a URL. The same URL always gives the same page. */
export function pageOf(url: string, seed: number, textBytes: number): Page {
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
