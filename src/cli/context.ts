import type { OpenRuntime } from '../worker/runtime-types.js';
import type { Interrupts } from './signals.js';
import type { Terminal } from './terminal.js';

/** What every command gets: the process around it, and the runtime it drives. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Arguments after the command's name, as typed. */
  readonly args: readonly string[];
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  readonly openRuntime: OpenRuntime;
}

/** How a command ended; see `exitCodes`. */
export type ExitCode = number;

/** 0 ok; 1 the job or the service failed; 2 wrong usage or input; 130, 143, 129 ended by a signal. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;
