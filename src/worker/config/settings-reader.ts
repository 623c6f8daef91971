import type { z } from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting as it was given, and where. */
export interface Found {
  readonly text: string;
  readonly name: string;
  readonly where: string;
}

/** Variables whose whole value is a secret. */
const secretVariables = ['SEARCHFLOW_API_KEY', 'EXA_API_KEY', 'TEMPORAL_API_KEY', 'PGPASSWORD'];

/** Reads settings and collects what is wrong with them, a sentence each, so that all mistakes are reported together. */
export class SettingsReader {
  readonly mistakes: string[] = [];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** A variable; an empty one counts as not set. */
  variable(name: string): Found | null {
    const text = this.#env[name];
    return text === undefined || text === '' ? null : { text, name, where: 'environment' };
  }

  flag(text: string | undefined, name: string): Found | null {
    return text === undefined ? null : { text, name, where: 'command line' };
  }

  /** The value, or null where there is none or it is not what is `wanted`: then that is a mistake. */
  check<T>(found: Found | null, schema: z.ZodType<T, string>, wanted: string): T | null {
    if (found === null) return null;
    const result = schema.safeParse(found.text);
    if (result.success) return result.data;
    this.wrong(found, `is not ${wanted}.`);
    return null;
  }

  /** Writes down what is wrong with a setting. `value`: what to show of it, by default the value itself where it is no secret. */
  wrong({ text, name, where }: Found, what: string, value = this.shown(text)): void {
    this.mistakes.push(`${name}: ${value} (${where}) ${what}`);
  }

  /** A value as a message may show it: short, printable, and never one that holds a key. */
  shown(text: string): string {
    const secrets = secretVariables.map((key) => this.#env[key]?.trim());
    if (secrets.some((secret) => secret && text.includes(secret))) return 'the value (not shown, it holds a key)';
    const flat = text.replace(/[\p{Cc}\p{Cf}]/gu, '?');
    return `'${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}'`;
  }
}
