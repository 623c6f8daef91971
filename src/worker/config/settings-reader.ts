import type { z } from 'zod';
import { addressSecrets } from '../../core/connections/address-secrets.js';
import { mayHoldSecret } from '../../core/connections/secret.js';
import { nearest } from '../../core/text/nearest.js';
import { readEnvFile } from '../../files/read-env-file.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting as it was typed, with its name and its source. */
export interface Found {
  readonly text: string;
  readonly name: string;
  readonly where: string;
}

/** Variables whose whole value is a secret. */
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

/** Reads settings and collects their mistakes, one sentence each, so that all are reported together. */
export class SettingsReader {
  readonly mistakes: string[] = [];
  readonly #env: Environment;
  /** Variables of the file of settings, once a message needs them. */
  #inFile: Readonly<Record<string, string>> | null = null;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** A variable of the environment or of the file of settings; an empty variable counts as unset. */
  variable(name: string): Found | null {
    const text = this.#env[name];
    if (text === undefined || text === '') return null;
    const reader = this;
    return {
      ...{ text, name },
      get where() {
        return reader.#fileOf(name) ?? 'environment';
      },
    };
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
    if (mayHoldSecret(text) || addressSecrets(text).length > 0)
      return 'the value (not shown, it may contain a password)';
    const flat = text.replace(/[\p{Cc}\p{Cf}]/gu, '?');
    return `'${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}'`;
  }
}

/** All variables of searchflow. Any other variable that begins with `SEARCHFLOW_` gives a warning. */
export const knownVariables = [
  'SEARCHFLOW_SETTINGS',
  'SEARCHFLOW_API_KEY',
  'SEARCHFLOW_BASE_URL',
  'SEARCHFLOW_BETA',
  'SEARCHFLOW_BETA_HEADER',
  'SEARCHFLOW_HEADERS',
  'SEARCHFLOW_SERVICE_KEY',
  'SEARCHFLOW_KEY_ID',
  'SEARCHFLOW_BILL_URL',
  'SEARCHFLOW_QPS',
  'SEARCHFLOW_RATE_PROFILE',
  'SEARCHFLOW_PRICES',
  'SEARCHFLOW_CONCURRENCY',
  'SEARCHFLOW_STATE_DIR',
  'SEARCHFLOW_TRUST_STATE_DIR',
  'SEARCHFLOW_KEEP_CALLS_DAYS',
  'SEARCHFLOW_KEEP_LANDING_DAYS',
  'SEARCHFLOW_TASK_QUEUE',
  'SEARCHFLOW_STORE',
  'SEARCHFLOW_TEAM',
  'SEARCHFLOW_KEY_QPS',
  'SEARCHFLOW_WAREHOUSE_URL',
  'SEARCHFLOW_SOURCE_URL',
  'SEARCHFLOW_DEAD_AFTER_SECONDS',
  'SEARCHFLOW_PATHS',
  'SEARCHFLOW_HOSTS',
  'SEARCHFLOW_DUCKDB_EXTENSIONS',
  'SEARCHFLOW_METRICS',
  'SEARCHFLOW_LOG',
  'SEARCHFLOW_ALERT_URL',
  'SEARCHFLOW_ALERT_SECRET',
  'SEARCHFLOW_ALERT_COMMAND',
  'SEARCHFLOW_ALERT_ON',
  'SEARCHFLOW_ALERT_LAG',
  'SEARCHFLOW_ASK_ABOVE',
  'SEARCHFLOW_MAX_COST_PER_JOB',
  'SEARCHFLOW_TEMPORAL_UI',
  'SEARCHFLOW_DATA_CONVERTER',
  'SEARCHFLOW_ENCRYPT',
  'SEARCHFLOW_DEBUG',
] as const;

/** A warning for each unknown variable that begins with `SEARCHFLOW_`, with the closest known variable. */
export function misspeltVariables(env: Environment, reader: SettingsReader): string[] {
  return Object.keys(env)
    .filter((found) => found.startsWith('SEARCHFLOW_') && !(knownVariables as readonly string[]).includes(found))
    .map((found) => {
      // A variable whose name ends with KEY holds a key, and a key must not be suggested for another variable.
      const isKey = (name: string) => name.endsWith('KEY');
      const near = nearest(found, isKey(found) ? knownVariables.filter(isKey) : knownVariables);
      const hint = near === null ? `. Known variables: ${knownVariables.join(', ')}.` : `; did you mean ${near}?`;
      const shown = found.replace(/[^\w]/g, '?').slice(0, 80);
      return `Warning: the variable ${reader.named(found).replace(found, () => shown)} is unknown and has no effect${hint}`;
    });
}
