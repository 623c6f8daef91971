import { hashText, mix } from '../base/hash.js';
import { authorOf, titleOf } from '../base/sentences.js';
import { dateOf, textOf } from './page.js';
import type { PageSettings } from './result.js';

const count = 256;

/** JSON in ASCII only: other letters are escaped. Such text takes one byte a letter and is sent without re-coding. */
export function asciiJson(value: unknown): string {
  if (typeof value === 'string' && /^[ !#-[\]-~]*$/.test(value)) return `"${value}"`;
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Prepared pages, which answer requests for plain text with little work. */
export class PrebuiltPages {
  /** The fields of each page after the URL, with the brace that ends the result. */
  readonly #tails: readonly Buffer[];

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
      return Buffer.from(`,${asciiJson(rest).slice(1)}`, 'latin1');
    });
  }

  /** Starts an answer. All its texts must be ASCII. */
  answer(requestId: string): PrebuiltAnswer {
    return new PrebuiltAnswer(
      `{"requestId":"${requestId}","results":[`,
      (hash) => this.#tails[mix(hash, 92) % count] as Buffer,
    );
  }
}

/**
 * An answer in progress: short heads as text, long tails as bytes. The tails are copied once, into the buffer that is sent. If
 * heads and tails were joined as text, the tails would be copied three times.
 */
class PrebuiltAnswer {
  readonly #pageOf: (hash: number) => Buffer;
  readonly #heads: string[];
  readonly #tails: Buffer[] = [];
  #size: number;

  constructor(start: string, pageOf: (hash: number) => Buffer) {
    this.#pageOf = pageOf;
    this.#heads = [start];
    this.#size = start.length;
  }

  /** Adds the result of a URL. `quoted` is the URL as ASCII JSON; `hash` chooses the page. */
  add(quoted: string, hash: number): void {
    const head = `${this.#tails.length > 0 ? ',' : ''}{"id":${quoted},"url":${quoted}`;
    const tail = this.#pageOf(hash);
    this.#heads.push(head);
    this.#tails.push(tail);
    this.#size += head.length + tail.length;
  }

  /** Ends the answer with `end` and returns its bytes. */
  finish(end: string): Buffer {
    const bytes = Buffer.allocUnsafe(this.#size + end.length);
    let at = bytes.write(this.#heads[0] as string, 0, 'latin1');
    for (const [index, tail] of this.#tails.entries()) {
      at += bytes.write(this.#heads[index + 1] as string, at, 'latin1');
      bytes.set(tail, at);
      at += tail.length;
    }
    bytes.write(end, at, 'latin1');
    return bytes;
  }
}
