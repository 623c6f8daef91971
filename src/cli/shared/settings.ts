import type { ErrorCode } from '../../core/errors/registry.js';
import { type ConfigFlags, readConfig } from '../../worker/config/config.js';
import { type RuntimeConfig, UsageError } from '../../worker/config/runtime-types.js';
import { printableLines } from '../text/printable.js';
import type { Context } from './context.js';

/**
 * Returns the configuration of a command. Throws one `UsageError` with all mistakes of the command line (`mistakes`) and of
 * the settings. `wrong`: the error code of a command line with mistakes.
 */
export function settings(
  context: Context,
  flags: ConfigFlags,
  mistakes: readonly string[] = [],
  wrong: ErrorCode = 'invalid-argument',
): RuntimeConfig {
  const { terminal, env, cwd } = context;
  let last = '';
  const say = (sentence: string) => {
    // A message that is repeated in a loop is printed once.
    if (sentence !== last) terminal.note(terminal.colors.dim(printableLines(sentence)));
    last = sentence;
  };
  let config: RuntimeConfig | null = null;
  const all = [...mistakes];
  let code: ErrorCode = mistakes.length > 0 ? wrong : 'setting-invalid';
  try {
    config = readConfig({ env, flags, cwd, say });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    all.push(error.message);
    if (mistakes.length === 0) code = error.errorCode;
  }
  if (config === null || all.length > 0) throw new UsageError(code, all.join('\n'));
  return config;
}
