import type { ConfigSources } from '../config/config.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

/** `problem`: work fails, or will fail; `warning`: it may; `skipped`: the setting that the check needs is wrong. */
export type Level = 'ok' | 'warning' | 'problem' | 'skipped';

/** The result of one check. */
export interface Finding {
  /** Name of the check, such as `state-folder`; the name never changes. */
  readonly check: string;
  readonly level: Level;
  readonly text: string;
  /** What to do, in a sentence; null if nothing is to be done. */
  readonly mend: string | null;
  /** A command to copy, which belongs to `mend`. */
  readonly command: string | null;
}

/** A finding whose check is that of the caller, unless it names another. */
export type Found = Omit<Finding, 'check'> & { readonly check?: string };

/** The setup that is examined. */
export interface Setup extends Pick<ConfigSources, 'env' | 'cwd'> {
  /** The settings; a wrong one has its default. */
  readonly config: RuntimeConfig;
  /** Whether one of these settings is wrong, so that a check that needs it says nothing. */
  isWrong(...settings: readonly string[]): boolean;
}

/** A part of the setup that is examined on its own. */
export interface Check {
  readonly name: string;
  run(setup: Setup): Promise<readonly Found[]>;
}

export const ok = (text: string): Found => ({ level: 'ok', text, mend: null, command: null });
export const warning = (text: string, mend: string | null, command: string | null = null): Found => ({
  level: 'warning',
  text,
  mend,
  command,
});
export const problem = (text: string, mend: string, command: string | null = null): Found => ({
  level: 'problem',
  text,
  mend,
  command,
});
export const skipped = (setting: string): Found => ({
  level: 'skipped',
  text: `Not checked, because ${setting} is wrong.`,
  mend: null,
  command: null,
});

/** The message of an error, in a sentence without its end. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : String(error)).replace(/\.$/, '');

/** The result of some work; rejects with this message if there is none within `ms`. */
export async function within<T>(ms: number, work: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
