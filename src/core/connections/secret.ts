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
