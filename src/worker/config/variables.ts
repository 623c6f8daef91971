import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { InputSchema } from '../../core/check-names.js';
import { phraseOf, schemaProblems } from '../../core/check-value.js';
import { mistakeText, type Setting, shownText } from './setting.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting as it was typed, with its name and its source. */
export interface Found {
  readonly text: string;
  readonly name: string;
  /** Absent: the environment, or the file of settings. */
  readonly where?: string;
}

/** Variables whose whole value is a secret. The help loads this list, and not the table of settings. */
export const secretVariables = [
  'SEARCHFLOW_API_KEY',
  'EXA_API_KEY',
  'SEARCHFLOW_SERVICE_KEY',
  'TEMPORAL_API_KEY',
  'PGPASSWORD',
  'SEARCHFLOW_ALERT_URL',
  'SEARCHFLOW_ALERT_SECRET',
  'SEARCHFLOW_HEADERS',
];

/** Reads a file of lines `NAME=value`. Node ignores a line that it cannot read. */
export function readEnvFile(path: string) {
  const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  return { text, variables: parseEnv(text) as Record<string, string> };
}

/** The variables of the environment and of the file of settings. */
export class Variables {
  readonly #env: Environment;
  /** Variables of the file of settings, once a message needs them. */
  #inFile: Readonly<Record<string, string>> | null = null;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** A variable of the environment or of the file of settings; an empty variable counts as unset. */
  find(name: string): Found | null {
    const text = this.#env[name];
    return text ? { text, name } : null;
  }

  /** The environment, or the file of settings if it sets the variable. */
  whereOf(name: string): string {
    return this.#fileOf(name) ?? 'environment';
  }

  /** The name of a variable for a message, with the file of settings if the file sets the variable. */
  named(name: string): string {
    const file = this.#fileOf(name);
    return file === null ? name : `${name} (${file})`;
  }

  /** The file of settings, if it sets this variable; null for a variable of the environment. A command adds the variables of the file to the environment. */
  #fileOf(name: string): string | null {
    const file = this.#env.SEARCHFLOW_SETTINGS;
    if (!file) return null;
    try {
      this.#inFile ??= readEnvFile(file).variables;
    } catch {
      // The file was removed since the command read it.
      this.#inFile = {};
    }
    const isThere = Object.hasOwn(this.#inFile, name) && this.#inFile[name] === this.#env[name];
    return isThere ? file : null;
  }

  /** A value as a message may show it: short, printable, and without any key or password. */
  shown(text: string): string {
    const secrets = secretVariables.map((key) => this.#env[key]?.trim());
    if (secrets.some((secret) => secret && text.includes(secret))) return 'the value (not shown, it contains a key)';
    return shownText(text);
  }

  /** The sentence about a wrong setting. */
  mistake({ text, name, where = this.whereOf(name) }: Found, error: unknown, { writeOnly }: InputSchema = {}): string {
    return mistakeText(name, writeOnly ? 'the value (not shown)' : this.shown(text), where, error);
  }
}

/** The value of a setting that was typed as a text. Throws an `Error` whose message follows the value. */
export function readText<T>({ schema, parse, make }: Setting<T>, text: string, cwd: string): T {
  const value = parse ? parse(text, cwd) : converted(text, schema);
  if (!parse && schemaProblems('', value, schema).length > 0) throw new Error(`is not ${phraseOf(schema)}`);
  return make ? make(value as never, cwd) : (value as T);
}

function converted(text: string, { type }: InputSchema): unknown {
  if (type === 'integer') return /^\d{1,9}$/.test(text) ? Number(text) : text;
  return type === 'array' ? itemsOf(text) : text;
}

/** The items of a list that are separated by commas. */
export const itemsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
