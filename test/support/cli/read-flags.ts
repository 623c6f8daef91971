import { readAll, type Specs } from '../../../src/cli/flag-values.js';
import { options } from '../../../src/cli/options.js';
import { readFlags } from '../../../src/cli/readers.js';
import type { Flags } from '../../../src/cli/shared/command.js';

const allSpecs: Readonly<Record<string, Specs>> = options;

/** The flags of a command, read from texts as the command line reads them, and the mistakes in them. */
export function flagsOf<Name extends keyof typeof options>(
  name: Name,
  typed: object,
  { cwd = '.', now = Date.now() } = {},
) {
  const read = readFlags(allSpecs[name], { ...typed }, { cwd, now });
  return { flags: read.flags as Flags<Name>, mistakes: read.mistakes };
}

/** What `use` returns for the flags of a command, null if it throws, and all mistakes in the flags. */
export function useFlags<Name extends keyof typeof options, Value>(
  name: Name,
  typed: object,
  use: (flags: Flags<Name>) => Value,
  about: { readonly cwd?: string; readonly now?: number } = {},
): { readonly value: Value; readonly mistakes: readonly string[] } {
  const { flags, mistakes } = flagsOf(name, typed, about);
  const { value, ...found } = readAll({ value: () => use(flags) });
  return { value, mistakes: [...mistakes, ...found.mistakes] };
}
