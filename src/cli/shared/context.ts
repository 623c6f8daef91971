export { type ExitCode, exitCodes } from '../../core/processes/exit-codes.js';

import type { OpenRuntime } from '../../worker/runtime/views.js';
import type { Interrupts } from './signals.js';
import type { Terminal } from './terminal.js';

/** The parts of the process that a command uses, and the function that opens the runtime. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Arguments after the command's name, as typed. */
  readonly args: readonly string[];
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  readonly openRuntime: OpenRuntime;
}
