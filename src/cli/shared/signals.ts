import type { EventEmitter } from 'node:events';
import { deferred } from '../../core/processes/deferred.js';
import { type ExitCode, exitCodes } from '../../core/processes/exit-codes.js';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Exit codes by signal: 128 plus the number of the signal, as shells expect. */
export const signalExitCodes: Readonly<Record<StopSignal, ExitCode>> = {
  SIGINT: exitCodes.SIGINT,
  SIGTERM: exitCodes.SIGTERM,
  SIGHUP: exitCodes.SIGHUP,
};

/** Signals to stop a command: the first signal drains, the second signal ends the drain. */
export interface Interrupts {
  readonly first: Promise<StopSignal>;
  readonly second: Promise<StopSignal>;
  close(): void;
}

/**
 * Signals within this time count as one Ctrl-C. `npm run` repeats the signal that the terminal has sent to the whole process
 * group.
 */
const SAME_PRESS_MS = 500;

/** Listens for SIGINT, SIGTERM and SIGHUP. `now`: milliseconds of a monotonic clock. */
export function watchInterrupts(
  source: Pick<EventEmitter, 'on' | 'off'>,
  now: () => number = () => performance.now(),
): Interrupts {
  const first = deferred<StopSignal>();
  const second = deferred<StopSignal>();
  let firstAt: number | null = null;
  const onSignal = (signal: StopSignal) => {
    if (firstAt === null) {
      firstAt = now();
      first.resolve(signal);
    } else if (now() - firstAt > SAME_PRESS_MS) second.resolve(signal);
  };
  const names = Object.keys(signalExitCodes) as StopSignal[];
  for (const name of names) source.on(name, onSignal);
  return {
    first: first.promise,
    second: second.promise,
    close: () => {
      for (const name of names) source.off(name, onSignal);
    },
  };
}
