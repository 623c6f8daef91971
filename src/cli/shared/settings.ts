import { type ConfigFlags, readConfig } from '../../worker/config/config.js';
import { type RuntimeConfig, UsageError } from '../../worker/config/runtime-types.js';
import { printable } from '../text/printable.js';
import type { Context } from './context.js';

/**
 * Reads the configuration for a command. `mistakes` are those already found in the command line; they and those of the
 * settings are thrown together, as one `UsageError`.
 */
export function settings(context: Context, flags: ConfigFlags, mistakes: readonly string[] = []): RuntimeConfig {
  const { terminal, env, cwd } = context;
  let last = '';
  const say = (sentence: string) => {
    // Whoever waits in a loop says so each time; once is enough for a person.
    if (sentence !== last) terminal.say(terminal.colors.dim(printable(sentence)));
    last = sentence;
  };
  let config: RuntimeConfig | null = null;
  const all = [...mistakes];
  try {
    config = readConfig({ env, flags, cwd, say });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    all.push(error.message);
  }
  if (config === null || all.length > 0) throw new UsageError(all.join('\n'));
  return config;
}
