import type { EventEmitter } from 'node:events';
import { deferred } from '../../core/processes/deferred.js';
import { type ExitCode, exitCodes } from '../../core/processes/exit-codes.js';
import type { openRuntime } from '../../worker/runtime/runtime.js';
import type { About, Specs } from '../flag-values.js';
import type { options } from '../options.js';
import type { readers } from '../readers.js';
import type { Terminal } from './terminal.js';

export { type ExitCode, exitCodes };

export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Arguments after the command's name, as typed. */
  readonly args: readonly string[];
  /** The mistakes in its flags, which are reported together with those that the command finds. */
  readonly mistakes?: readonly string[];
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  readonly openRuntime: typeof openRuntime;
}

/** A command, in a table by its words after `searchflow`. Help, parsing, completion and docs are made from it. */
export interface CommandSpec {
  readonly about: string;
  readonly args?: Specs;
  /** Loads the code of the command, so that `--help` stays fast. Absent for a group of commands. */
  readonly run?: () => Promise<RunCommand>;
  /** Command lines to copy, which end its help. */
  readonly examples: readonly string[];
}

export type RunCommand = (context: Context, ...given: never[]) => Promise<ExitCode>;

type CamelCase<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : S;
type NameOf<F> = F extends `${infer Flag} ${string}`
  ? NameOf<Flag>
  : F extends `--no-${infer Name}`
    ? CamelCase<Name>
    : F extends `--${infer Name}`
      ? CamelCase<Name>
      : never;
type ReaderOf<F> = F extends keyof typeof readers ? (typeof readers)[F] : unknown;
type FieldOf<F> = ReaderOf<F> extends { readonly field: infer Field extends string } ? Field : NameOf<F>;
type ReadBy<R, Else> = R extends { readonly read: (typed: never, about: About) => infer Value } ? Value : Else;
/** Two flags may set one field, such as `--key` and `--no-key`; each has its own type. */
type ValueOf<F, S> = F extends unknown ? ReadBy<S, ReadBy<ReaderOf<F>, TypedAs<F, S>>> : never;
type TypedAs<F, S> = S extends { readonly many: true }
  ? readonly string[]
  : S extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : F extends `${string} <${string}`
      ? string
      : F extends `${string} [${string}`
        ? string | true
        : F extends `--no-${string}`
          ? false
          : boolean;
type Always<S> = S extends { readonly default: string } | { readonly mandatory: true } ? true : false;

type FlagsOf<S> = {
  readonly [F in keyof S as Always<S[F]> extends true ? FieldOf<F> : never]: ValueOf<F, S[F]>;
} & { readonly [F in keyof S as Always<S[F]> extends true ? never : FieldOf<F>]?: ValueOf<F, S[F]> };

export type Flags<Name extends keyof typeof options> = FlagsOf<(typeof options)[Name]>;

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Exit codes by signal: 128 plus the number of the signal, as shells expect. */
export const signalExitCodes: Readonly<Record<StopSignal, ExitCode>> = {
  SIGINT: exitCodes.SIGINT,
  SIGTERM: exitCodes.SIGTERM,
  SIGHUP: exitCodes.SIGHUP,
};

/** Signals to stop a command: the first signal drains, the second signal ends the drain. */
export type Interrupts = ReturnType<typeof watchInterrupts>;

/**
 * Signals within this time count as one Ctrl-C. `npm run` repeats the signal that the terminal has sent to the whole process
 * group.
 */
const SAME_PRESS_MS = 500;

/** Listens for SIGINT, SIGTERM and SIGHUP. `now`: milliseconds of a monotonic clock. */
export function watchInterrupts(source: Pick<EventEmitter, 'on' | 'off'>, now: () => number = () => performance.now()) {
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
