import type { Runtime, RuntimeConfig } from '../../worker/config/runtime-types.js';
import { some } from '../text/amounts.js';
import type { Context, ExitCode } from './context.js';
import { type EmbeddedSandbox, onSandbox, openSandbox } from './embedded-sandbox.js';
import { resumeCommand } from './resume-command.js';
import { type StopSignal, signalExitCodes } from './signals.js';
import { standBy } from './stand-by.js';

/** What a command works with while it runs. */
export interface Session {
  readonly runtime: Runtime;
  /** The keyless stand-in, where this command sends requests to one. */
  readonly sandbox: EmbeddedSandbox | null;
  /** Aborted by the first Ctrl-C: draw nothing more. */
  readonly stopped: AbortSignal;
  /** Says from now on what stopping means: a job is being worked on, of this name. `note`: what a person must know who stops it. */
  working(job?: string, note?: string): void;
}

/** How long closing may take: ten seconds for paid requests to land, and a little to write things down; without any, just that. */
const DRAIN_MS = 15_000;
const IDLE_DRAIN_MS = 5000;
const CUT_MS = 3000;

/**
 * Opens the runtime (and the sandbox, where the command sends requests and has no key), runs the command's work, and closes
 * everything. Ctrl-C drains: nothing new starts, paid requests in flight land. A second one cuts.
 */
export async function withRuntime(
  context: Context,
  config: RuntimeConfig,
  options: { readonly sends: boolean },
  work: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { terminal, interrupts } = context;
  const stop = new AbortController();
  const over = new AbortController();
  let sandbox: EmbeddedSandbox | null = null;
  let runtime: Runtime | null = null;
  let isWorking = false;
  let worksOn: string | null = null;
  let noted: string | null = null;

  const run = async (): Promise<ExitCode> => {
    if (options.sends && config.service === 'sandbox') sandbox = await openSandbox(config);
    const opened = await context.openRuntime(sandbox ? onSandbox(config, sandbox) : config);
    runtime = opened;
    const say = (sentence: string) => terminal.say(sentence);
    void standBy({ runtime: opened, sandbox, say, signal: AbortSignal.any([stop.signal, over.signal]) });
    return work({
      runtime: opened,
      sandbox,
      stopped: stop.signal,
      working: (job, note) => {
        isWorking = true;
        worksOn = job ?? worksOn;
        noted = note ?? noted;
      },
    });
  };

  try {
    const signal = await Promise.race([run(), interrupts.first.then((name) => ({ name }))]);
    if (typeof signal === 'number') return signal;
    stop.abort();
    terminal.show('');
    return await stopOn(signal.name);
  } finally {
    over.abort();
    terminal.show('');
    await close();
    await (sandbox as EmbeddedSandbox | null)?.close();
  }

  /** Ends the work that this command owns while a worker can still sum it up, at most for so long. */
  async function stopOwned(open: Runtime): Promise<void> {
    await open
      .stop(Promise.race([interrupts.second, after(DRAIN_MS, undefined)]))
      // What can't be told to stop stays this command's: another one ends it before it works.
      .catch(() => undefined);
  }

  /** Closes what is open; drains at first, cuts when drained too long or told so. */
  async function close(): Promise<boolean> {
    const open = runtime;
    runtime = null;
    if (open === null) return true;
    const limitMs = open.inFlight() > 0 ? DRAIN_MS : IDLE_DRAIN_MS;
    const drained = open.close('drain').then(() => 'drained' as const);
    // A failure after a cut would have nobody to hear it.
    drained.catch(() => undefined);
    const how = await Promise.race([
      drained,
      interrupts.second.then(() => 'cut' as const),
      after(limitMs, 'late' as const),
    ]);
    if (how === 'drained') return true;
    await Promise.race([open.close('now').catch(() => undefined), after(CUT_MS, undefined)]);
    return false;
  }

  async function stopOn(name: StopSignal): Promise<ExitCode> {
    const again = `To go on: ${resumeCommand(context.args, context.env)}`;
    const code = signalExitCodes[name];
    if (!isWorking) {
      terminal.say('Stopped; nothing was bought.');
      return code;
    }
    // A store that is away must not keep the person waiting.
    const owned = (await Promise.race([runtime?.owned().catch(() => null), after(CUT_MS, null)])) ?? [];
    if (runtime?.clientOnly && owned.length === 0) {
      terminal.say(
        `Detached. ${worksOn === null ? 'The work' : worksOn} continues in the process that works on it.\nTo watch it again: ${resumeCommand(context.args, context.env)}`,
      );
      return code;
    }
    const open = runtime?.inFlight() ?? 0;
    terminal.say(
      open > 0
        ? `Stopping: letting ${some(open, 'paid request')} in flight land (at most 10 s); press Ctrl-C again to stop now.`
        : 'Stopping: no paid request is in flight; writing down where the job stands.',
    );
    if (runtime && owned.length > 0) await stopOwned(runtime);
    const shared = runtime?.shared ?? false;
    const drained = await close();
    // What is free may be cut off and asked for again.
    const stoppedSo =
      drained || open === 0 ? 'Stopped.' : 'Stopped at once; requests cut off may show as unknown outcomes.';
    const others = owned.length === 0 && shared ? 'Other workers of the store continue its jobs. ' : '';
    const notOurs =
      owned.length === 0 && worksOn !== null
        ? `${worksOn} was started elsewhere and continues with the next worker. `
        : '';
    const note = owned.length > 0 && noted !== null ? `${noted} ` : '';
    terminal.say(`${stoppedSo} ${others}${notOurs}${note}${again}`);
    return code;
  }
}

function after<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, value).unref();
  });
}
