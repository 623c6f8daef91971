import type { InputSchema } from '../../core/check-names.js';
import { addressSecrets } from '../../core/connections/address-secrets.js';
import { mayHoldSecret } from '../../core/connections/secret.js';
import { sentence } from '../../core/text/count.js';

/** A setting: how its value is written, and what is made of it. */
export interface Setting<T> {
  /** Variable of the environment; null: only the plugin has the setting. */
  readonly variable: string | null;
  readonly alias?: string;
  readonly flag?: string;
  /** The value as the plugin gets it, and as a text is read without `parse`, with its default. `writeOnly`: messages never show it. */
  readonly schema: InputSchema & { readonly default?: unknown };
  /** Reads the text of a variable or flag. Throws an `Error` whose message follows the value. */
  readonly parse?: (text: string, cwd: string) => unknown;
  /** Makes the setting of the value. Throws an `Error` whose message follows the value. */
  readonly make?: (value: never, cwd: string) => T;
  /** Whether the option means nothing to a worker without a record. */
  readonly ofRecord?: boolean;
}

/** A wrong value. `subject`: what the message shows instead of the value; empty: the message is a whole sentence. */
export class Wrong extends Error {
  readonly subject: string;

  constructor(problem: string, subject = 'the value (not shown)') {
    super(problem);
    this.subject = subject;
  }
}

/** The sentence about a wrong value. `value`: the value as it may be shown; `where`: its source. */
export function mistakeText(name: string, value: string, where: string | null, error: unknown): string {
  const problem = error instanceof Error ? error.message : String(error);
  const subject = error instanceof Wrong ? error.subject : value;
  const source = where === null ? '' : ` (${where})`;
  const start = subject === '' ? `${name}${source}:` : `${name}: ${subject}${source}`;
  return sentence(`${start} ${problem}`);
}

/** A value as a message may show it: short, printable, and without any password. */
export function shownText(text: string): string {
  if (mayHoldSecret(text) || addressSecrets(text).length > 0) return 'the value (not shown, it may contain a password)';
  const flat = text.replace(/[\p{Cc}\p{Cf}]/gu, '?');
  return `'${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}'`;
}
