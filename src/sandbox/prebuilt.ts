import { hashText, mix } from './hash.js';
import { dateOf, textOf } from './page.js';
import type { PageSettings } from './result.js';
import { authorOf, titleOf } from './sentences.js';

const count = 256;

/** JSON in ASCII only: letters beyond it as escapes. Such strings take a byte a letter, and go on the wire without re-coding. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Pages made beforehand, to answer plain text requests with as little work as can be. */
export class PrebuiltPages {
  readonly #tails: readonly string[];

  constructor({ seed, textBytes }: PageSettings) {
    this.#tails = Array.from({ length: count }, (_, index) => {
      const hash = mix(hashText(String(index), seed), 91);
      const rest = {
        title: titleOf(hash, `archive ${index}`),
        publishedDate: dateOf(hash),
        author: authorOf(hash),
        favicon: 'https://archive.example/favicon.ico',
        text: textOf(hash, textBytes),
      };
      return `,${asciiJson(rest).slice(1)}`;
    });
  }

  /** The result of a URL as JSON text. `quoted` is the URL as JSON; `hash` chooses the page. */
  result(quoted: string, hash: number): string {
    return `{"id":${quoted},"url":${quoted}${this.#tails[mix(hash, 92) % count] as string}`;
  }
}
