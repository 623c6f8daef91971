import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '../../core/errors/registry.js';
import { type ConfigFlags, readConfig } from '../../worker/config/config.js';
import { type RuntimeConfig, UsageError } from '../../worker/config/runtime-types.js';
import type { Runtime } from '../../worker/runtime/runtime.js';
import { printableLines, resumeCommand, some } from '../text.js';
import { type Context, type ExitCode, exitCodes, type StopSignal, signalExitCodes } from './command.js';
import { type EmbeddedSandbox, onSandbox, openSandbox } from './embedded-sandbox.js';

/**
 * Returns the configuration of a command. Throws one `UsageError` with all mistakes of the command line (`found` and those of its flags)
 * and of the settings. `wrong`: the error code of a command line with mistakes.
 */
export function settings(
  context: Context,
  flags: ConfigFlags,
  found: readonly string[] = [],
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
  const mistakes = [...(context.mistakes ?? []), ...found];
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

export interface Session extends Context {
  readonly runtime: Runtime;
  readonly config: RuntimeConfig;
  /** The sandbox, if this command sends requests to a sandbox. */
  readonly sandbox: EmbeddedSandbox | null;
  /** Aborted by the first Ctrl-C. The command draws nothing afterwards. */
  readonly stopped: AbortSignal;
  /** Declares that work has started. From then on, Ctrl-C prints how to resume the work, and then `note`. */
  working(job?: string, note?: string): void;
  /** Declares that this command only waits for work of others. From then on, Ctrl-C ends only the wait. */
  watching(job: string): void;
  /** Declares that a database does not answer. Closing then waits for nothing. */
  abandon(): void;
}

export interface SessionOptions {
  /** Whether the command sends requests to the service. */
  readonly sends?: boolean;
  /** Whether the command only reads. Such a command fails with `Silent` if the store does not answer. */
  readonly bounded?: boolean;
}

/** Longest time to close after the work has ended, with and without paid requests in flight; then to close at once. */
const DRAIN_MS = 15_000;
const IDLE_DRAIN_MS = 5000;
const CUT_MS = 3000;
/** Time from the first Ctrl-C to the end of the process. Paid requests have 10 s to land. */
const END_MS = 12_000;
/** Times before the end of the process at which owned work is ended by force, and at which the drain is cut. */
const OWNED_BEFORE_MS = 1000;
const DRAINED_BEFORE_MS = 500;
/** Longest time for which a command that only reads waits for the store. */
const STORE_MS = 5000;

/**
 * Opens the runtime, runs the work and closes everything. Also opens the sandbox if the command sends requests without a key.
 * Returns the exit code, 0 if `work` returns none. The first Ctrl-C drains for up to 12 s: nothing new starts, and paid requests in flight land. The
 * second Ctrl-C ends the drain.
 */
export async function withRuntime(
  context: Context,
  config: RuntimeConfig,
  options: SessionOptions,
  work: (session: Session) => Promise<ExitCode | undefined>,
): Promise<ExitCode> {
  const { terminal, interrupts } = context;
  const stop = new AbortController();
  let sandbox: EmbeddedSandbox | null = null;
  let runtime: Runtime | null = null;
  const declared: { working?: { job?: string; note?: string }; watched?: string; isAbandoned?: boolean } = {};
  /** The end of the process, once it was stopped. */
  let deadline = deadlineIn(Number.POSITIVE_INFINITY);

  const run = async (): Promise<ExitCode | undefined> => {
    if (options.sends && config.service === 'sandbox') sandbox = await openSandbox(config);
    const opening = context.openRuntime(sandbox ? onSandbox(config, sandbox) : config);
    const { store } = config;
    const silent = `The store ${store?.shown} (SEARCHFLOW_STORE) did not answer within ${STORE_MS / 1000} s. Start it, or correct its address.`;
    const isBounded = options.bounded === true && Boolean(store);
    const opened = await (isBounded ? within(STORE_MS, opening, silent) : opening);
    runtime = opened;
    const done = work({
      ...context,
      runtime: opened,
      config,
      sandbox,
      stopped: stop.signal,
      working: (job, note) => {
        const { working = {} } = declared;
        declared.working = { job: job ?? working.job, note: note ?? working.note };
      },
      watching: (job) => {
        declared.watched = job;
      },
      abandon: () => {
        declared.isAbandoned = true;
      },
    });
    return isBounded ? whileAnswering(() => within(STORE_MS, opened.jobs.walks(), silent), done) : done;
  };

  try {
    const signal = await Promise.race([run(), interrupts.first.then((name) => ({ name }))]);
    if (typeof signal !== 'object') return signal ?? exitCodes.ok;
    deadline = deadlineIn(END_MS);
    stop.abort();
    terminal.show('');
    return await stopOn(signal.name);
  } catch (error) {
    if (error instanceof Silent) declared.isAbandoned = true;
    throw error;
  } finally {
    stop.abort();
    terminal.show('');
    await close();
    await (sandbox as EmbeddedSandbox | null)?.close();
  }

  /** Drains the runtime until the time limit or the second Ctrl-C, and then closes the runtime. Returns whether it was drained. */
  async function close(): Promise<boolean> {
    const open = runtime;
    runtime = null;
    if (open === null) return true;
    if (declared.isAbandoned) {
      open.close('now').catch(() => undefined);
      return false;
    }
    const usualMs = open.inFlight() > 0 ? DRAIN_MS : IDLE_DRAIN_MS;
    const drained = open.close('drain').then(() => true);
    // If the drain was cut, a failure of the drain does not matter.
    drained.catch(() => undefined);
    const cut = interrupts.second.then(() => false);
    if (await Promise.race([drained, cut, after(Math.min(usualMs, deadline.left(DRAINED_BEFORE_MS)), false)]))
      return true;
    await Promise.race([open.close('now').catch(() => undefined), after(Math.min(CUT_MS, deadline.left()), undefined)]);
    return false;
  }

  async function stopOn(name: StopSignal): Promise<ExitCode> {
    const typed = resumeCommand(context.args, context.env);
    const again = `To resume:\n  ${typed}`;
    const code = signalExitCodes[name];
    const { working, watched } = declared;
    if (watched !== undefined) {
      terminal.say(`Stopped waiting; ${watched} is not affected. To wait again:\n  ${typed}`);
      return code;
    }
    if (working === undefined) {
      terminal.say('Stopped; nothing was bought.');
      return code;
    }
    const { job, note } = working;
    // An unreachable store must not delay the exit.
    const owned = (await Promise.race([runtime?.owned().catch(() => null), after(CUT_MS, null)])) ?? [];
    if (runtime?.clientOnly && owned.length === 0) {
      terminal.say(
        `Detached. ${job ?? 'The work'} continues in the process that runs it. To watch it again:\n  ${typed}`,
      );
      return code;
    }
    const open = runtime?.inFlight() ?? 0;
    terminal.say(
      open > 0
        ? `Stopping: waiting up to 10 s for ${some(open, 'paid request')} in flight; press Ctrl-C again to stop now.`
        : 'Stopping: no paid request is in flight; saving the state of the job.',
    );
    if (runtime && owned.length > 0) {
      // Work that did not stop in time still belongs to this command; the next command stops that work.
      const until = Promise.race([interrupts.second, after(deadline.left(OWNED_BEFORE_MS), undefined)]);
      const stopped = runtime.stop(until).catch(() => undefined);
      // Recording the end of the work may hang, so the wait has a time limit.
      await Promise.race([stopped, after(deadline.left(DRAINED_BEFORE_MS), undefined)]);
    }
    const shared = runtime?.shared ?? false;
    const drained = await close();
    // A free request may be cut off, because it can be sent again.
    const stoppedSo =
      drained || open === 0 ? 'Stopped.' : 'Stopped at once; interrupted requests may become unknown outcomes.';
    const others = owned.length === 0 && shared ? 'Other workers of this store continue its jobs. ' : '';
    const notOurs =
      owned.length === 0 && job !== undefined
        ? `${job} was started elsewhere and continues with the next worker. `
        : '';
    const ours = owned.length > 0 && note !== undefined ? `${note} ` : '';
    terminal.say(`${stoppedSo} ${others}${notOurs}${ours}${again}`);
    return code;
  }
}

function deadlineIn(ms: number) {
  const end = performance.now() + ms;
  /** The milliseconds that are left until `beforeMs` before the end. */
  return { left: (beforeMs = 0) => Math.max(0, end - beforeMs - performance.now()) };
}

/** Resolves to the value after some time, if the process is still running. */
const after = <T>(ms: number, value: T): Promise<T> => sleep(ms, value, { ref: false });

/** A database does not answer, and waiting longer may not help. */
export class Silent extends Error {
  readonly errorCode = 'postgres-unreachable' satisfies ErrorCode;
  override readonly name = 'Silent';
}

/** Returns the value of `work`. Rejects with `Silent` and the message after `ms` milliseconds; `work` itself continues. */
export async function within<T>(ms: number, work: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Silent(message)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const PROBE_EVERY_MS = 1000;

/**
 * Returns the value of `work`, however long it takes, as long as `probe` resolves. Rejects with the error of `probe` if
 * `probe` rejects.
 */
async function whileAnswering<T>(probe: () => Promise<unknown>, work: Promise<T>): Promise<T> {
  const ended = work.then((value) => ({ value }));
  for (;;) {
    const done =
      (await Promise.race([ended, probe().then(() => null)])) ??
      (await Promise.race([ended, after(PROBE_EVERY_MS, null)]));
    if (done !== null) return done.value;
  }
}

/**
 * Longest wait for an answer. A worker answers within milliseconds, or within seconds on a busy machine. Starting a server
 * takes seconds, too.
 */
const ANSWER_MS = 8000;

/** Returns a workflow's answer; null if there is none in time, or if the question fails. */
export const answered = <Answer>(asked: Promise<Answer>, ms = ANSWER_MS): Promise<Answer | null> =>
  Promise.race([asked, after(ms, null)]).catch(() => null);
