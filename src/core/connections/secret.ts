const shown = '[redacted]';

/** A value that is never printed: not in a string, JSON, an inspection or an error. Only `reveal()` returns it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value. Call this method only where the value is sent. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return shown;
  }
}

/** A word of a key has letters and digits, or is long; a file or a host has an ending, and is shown. */
const key = /(?=[\w+=-]*\d)(?=[\w+=-]*[a-z])[\w+=-]{16,}|[a-z0-9]{32,}|\bsk[-_]\w/i;
const hasEnding = /^[./~]|\.[a-z]{2,7}(?::\d+)?(?:\?[\w=-]*)?$/i;

/**
 * Whether a text may hold a password or a key: `user:password@host`, `password=word`, the value of an authorization header, or a pasted key.
 * Messages never show such a text.
 */
export function mayHoldSecret(text: string): boolean {
  return /:[^@]*@|\bpassword\s*=|\b(?:bearer|basic)\s+\S/i.test(text) || (key.test(text) && !hasEnding.test(text));
}
