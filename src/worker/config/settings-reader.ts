import type { z } from 'zod';
import { mayHoldSecret } from '../../core/connections/secret.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting as it was typed, with its name and its source. */
export interface Found {
  readonly text: string;
  readonly name: string;
  readonly where: string;
}

/** Variables whose whole value is a secret. */
const secretVariables = ['SEARCHFLOW_API_KEY', 'EXA_API_KEY', 'TEMPORAL_API_KEY', 'PGPASSWORD'];

/** Reads settings and collects their mistakes, one sentence each, so that all are reported together. */
export class SettingsReader {
  readonly mistakes: string[] = [];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** A variable of the environment; an empty variable counts as unset. */
  variable(name: string): Found | null {
    const text = this.#env[name];
    return text === undefined || text === '' ? null : { text, name, where: 'environment' };
  }

  flag(text: string | undefined, name: string): Found | null {
    return text === undefined ? null : { text, name, where: 'command line' };
  }

  /**
   * The parsed value; null if the setting is unset or invalid. An invalid value is recorded as a mistake. `wanted` completes the message
   * "is not …".
   */
  check<T>(found: Found | null, schema: z.ZodType<T, string>, wanted: string): T | null {
    if (found === null) return null;
    const result = schema.safeParse(found.text);
    if (result.success) return result.data;
    this.wrong(found, `is not ${wanted}.`);
    return null;
  }

  /**
   * Records a mistake in a setting. `problem`: the words after the value in the message. `value`: the text that is shown as the value;
   * default: the value itself, unless it is a secret.
   */
  wrong({ text, name, where }: Found, problem: string, value = this.shown(text)): void {
    this.mistakes.push(`${name}: ${value} (${where}) ${problem}`);
  }

  /** A value as a message may show it: short, printable, and without any key or password. */
  shown(text: string): string {
    const secrets = secretVariables.map((key) => this.#env[key]?.trim());
    if (secrets.some((secret) => secret && text.includes(secret))) return 'the value (not shown, it contains a key)';
    if (mayHoldSecret(text)) return 'the value (not shown, it may contain a password)';
    const flat = text.replace(/[\p{Cc}\p{Cf}]/gu, '?');
    return `'${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}'`;
  }
}
