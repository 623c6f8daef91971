import type { Runtime, RuntimeConfig } from '../worker/runtime-types.js';
import type { Context, ExitCode } from './context.js';
import { type EmbeddedSandbox, onSandbox, openSandbox } from './embedded-sandbox.js';
import { some } from './render/amounts.js';
import { commandsAsTyped } from './render/paused.js';
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
  /** Says from now on what stopping means: a job is being worked on, of this name where it is one that can be cancelled by it. */
  working(job?: string): void;
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
      working: (job) => {
        isWorking = true;
        worksOn = job ?? worksOn;
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

  /** Of a job that is not done: it is in Temporal's hands, and whoever runs a worker there next works on it. */
  function endText(job: string | null, alone: boolean): string {
    if (job === null) return '';
    const next = alone ? 'The next command of this folder that runs a worker goes on with it, too. ' : '';
    return `\n${next}To end it: ${commandsAsTyped(`searchflow cancel ${job}`, context.env)}`;
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
    if (runtime?.clientOnly) {
      terminal.say(
        `Detached; the job goes on in the process that works on it.\nTo watch it again: ${resumeCommand(context.args, context.env)}`,
      );
      return code;
    }
    const open = runtime?.inFlight() ?? 0;
    terminal.say(
      open > 0
        ? `Stopping: letting ${some(open, 'paid request')} in flight land (at most 10 s); press Ctrl-C again to stop now.`
        : 'Stopping: no paid request is in flight; writing down where the job stands.',
    );
    const others = runtime?.shared ? 'Other workers of the store go on with its jobs. ' : '';
    const drained = await close();
    // What is free may be cut off and asked for again.
    const stoppedSo =
      drained || open === 0 ? 'Stopped.' : 'Stopped at once; requests cut off may show as unknown outcomes.';
    terminal.say(`${stoppedSo} ${others}${again}${endText(worksOn, others === '')}`);
    return code;
  }
}

function after<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, value).unref();
  });
}
