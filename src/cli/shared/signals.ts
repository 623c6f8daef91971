import type { EventEmitter } from 'node:events';
import { type ExitCode, exitCodes } from '../../core/rows/exit-codes.js';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** What the shell expects of a command that a signal ended: 128 and the signal's number. */
export const signalExitCodes: Readonly<Record<StopSignal, ExitCode>> = {
  SIGINT: exitCodes.SIGINT,
  SIGTERM: exitCodes.SIGTERM,
  SIGHUP: exitCodes.SIGHUP,
};

/** The wish to stop: the first signal asks nicely, the second means now. */
export interface Interrupts {
  readonly first: Promise<StopSignal>;
  readonly second: Promise<StopSignal>;
  close(): void;
}

/**
 * Signals closer than this are one press: `npm run` hands on the Ctrl-C that the terminal has already sent to the whole
 * process group, and a second that nobody pressed would cut paid requests off.
 */
const SAME_PRESS_MS = 500;

/** Listens to a process for SIGINT, SIGTERM and SIGHUP. `now` is a clock in milliseconds. */
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

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
