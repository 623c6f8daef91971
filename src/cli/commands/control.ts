import { type Context, type ExitCode, exitCodes } from '../context.js';
import { printable } from '../render/printable.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';
import { watchToEnd } from './run-enrich.js';

/** `searchflow pause JOB`: paid requests in flight land, nothing new starts, until it is resumed. */
export async function pause(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const handle = await runtime.attach(job);
    await handle.pause();
    context.terminal.say(`${printable(handle.job)} is told to pause; \`searchflow resume ${printable(job)}\` goes on.`);
    return exitCodes.ok;
  });
}

/** `searchflow resume JOB`: goes on, here where no other process of the folder runs the worker. */
export async function resume(
  context: Context,
  job: string,
  flags: { readonly json?: boolean; readonly qps?: string },
): Promise<ExitCode> {
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: true }, async (session) => {
    session.working();
    const handle = await session.runtime.attach(job, { worker: true });
    await handle.resume();
    if (session.runtime.clientOnly) {
      context.terminal.say(`${printable(handle.job)} goes on in the process that runs the worker.`);
      return exitCodes.ok;
    }
    return watchToEnd(context, config, session, handle, { json: flags.json ?? false, csv: null, badRows: [] });
  });
}

/** `searchflow cancel JOB`: paid requests in flight land, then the job ends; what was bought stays bought. */
export async function cancel(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const handle = await runtime.attach(job);
    await handle.cancel();
    context.terminal.say(
      `${printable(handle.job)} is told to end. What it bought stays bought; the same enrich command goes on.`,
    );
    return exitCodes.ok;
  });
}
