import { codeOfError } from '../../core/errors/code-of.js';
import { errorFixes } from '../../core/errors/registry.js';
import type { ConfigSources } from '../config/config.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { SettingName } from '../config/settings.js';

/** Difference of clocks, in ms, that tokens, watermarks and ages of answers tolerate, and from which work fails. */
const SKEW_MS = 5000;
const LARGE_SKEW_MS = 60_000;

/** The result of one check. */
export interface Finding {
  /** Name of the check, such as `state-folder`; the name never changes. */
  readonly check: string;
  /** False: work fails, or will fail. */
  readonly ok: boolean;
  readonly why: string;
  /** What to do, with a command to copy on a line of its own; null if nothing is to be done. With `ok`, it is advice. */
  readonly mend: string | null;
}

export interface Setup extends Pick<ConfigSources, 'env' | 'cwd'> {
  /** The settings; a wrong one has its default. */
  readonly config: RuntimeConfig;
  /** Whether one of these settings is wrong, so that a check that needs it says nothing. */
  isWrong(...names: readonly SettingName[]): boolean;
}

export const fine = (check: string, why: string, mend: string | null = null): Finding => ({
  check,
  ok: true,
  why,
  mend,
});
export const bad = (check: string, why: string, mend: string): Finding => ({ check, ok: false, why, mend });

/** The finding about an error, with the sentence of its code. */
export const badBy = (check: string, error: unknown): Finding =>
  bad(check, `${messageOf(error)}.`, errorFixes[codeOfError(error)]);

/** The message of an error, in a sentence without its end. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : String(error)).replace(/\.$/, '');

/** Compares the clock of this machine with another one, which was read between `began` and `ended`. */
export function clockFinding(check: string, began: number, ended: number, there: number, other: string): Finding {
  const aheadMs = began > there ? began - there : ended < there ? ended - there : 0;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= SKEW_MS) return fine(check, `The clock agrees with that of ${other}.`);
  const text = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${other}.`;
  const mend = 'Set the clock by NTP:\n  sudo timedatectl set-ntp true';
  return Math.abs(aheadMs) > LARGE_SKEW_MS ? bad(check, text, mend) : fine(check, text, mend);
}
