import { type Runtime, UsageError } from '../../worker/config/runtime-types.js';
import { EventControl } from '../../worker/control/event-control.js';
import { findWalk } from '../../worker/control/find-walk.js';
import { walkNamed } from '../events/walk-named.js';
import { watchWalk } from '../events/watch-walk.js';
import { readMaxCost } from '../options/max-cost-option.js';
import { checkConnection } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { printable } from '../text/printable.js';
import { watchToEnd } from './run-enrich.js';

/** `searchflow pause JOB`: paid requests in flight land, nothing new starts, until it is resumed. */
export async function pause(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const handle = (await walkNamed(runtime, job)) ?? (await runtime.attach(job));
    await handle.pause();
    context.terminal.say(`${printable(handle.job)} is told to pause; \`searchflow resume ${printable(job)}\` goes on.`);
    return exitCodes.ok;
  });
}

/** `searchflow resume JOB`: makes it go on, and watches it to its end; may change what the run may cost. */
export async function resume(
  context: Context,
  job: string,
  flags: { readonly json?: boolean; readonly qps?: string; readonly maxCost?: string },
): Promise<ExitCode> {
  const mistakes: string[] = [];
  const maxCostDollars = readMaxCost(flags.maxCost, mistakes);
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: true }, async (session) => {
    await refuseOtherService(session.runtime, job, config.origin);
    await checkConnection(config);
    session.working();
    const walk = findWalk(await session.runtime.walks(), job);
    if (walk) {
      if (maxCostDollars !== undefined) throw new UsageError('--max-cost: reading events costs nothing.');
      session.working(walk.job);
      await session.runtime.own(walk);
      const control = new EventControl(await session.runtime.workflows(), context.cwd);
      return watchWalk(context, session, await control.resume(walk), { json: flags.json ?? false });
    }
    const handle = await session.runtime.resume(job, maxCostDollars === undefined ? {} : { maxCostDollars });
    session.working(handle.job);
    return watchToEnd(context, config, session, handle, { json: flags.json ?? false, csv: null, badRows: [] });
  });
}

/** A job goes on where it began: its requests never go to another service because a key was set or unset meanwhile. */
async function refuseOtherService(runtime: Runtime, job: string, origin: string): Promise<void> {
  const mine = (await runtime.known()).filter((one) => one.job === job || one.name === job);
  const [first] = mine;
  if (!first || mine.some((one) => one.origin === origin)) return;
  throw new UsageError(
    first.origin === 'sandbox'
      ? `The job ${first.job} is one of the sandbox; unset the key to go on with it.`
      : `The job ${first.job} is one of ${first.origin}; set SEARCHFLOW_API_KEY (and SEARCHFLOW_BASE_URL) to go on with it.`,
  );
}

/** `searchflow cancel JOB`: paid requests in flight land, agent runs in progress are cancelled, then the job ends; what was bought stays bought. */
export async function cancel(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const walk = await walkNamed(runtime, job);
    const handle = walk ?? (await runtime.attach(job));
    await handle.cancel();
    if (walk) {
      context.terminal.say(`${printable(walk.job)} is told to end. What it loaded stays; the same command goes on.`);
      return exitCodes.ok;
    }
    context.terminal.say(
      `${printable(handle.job)} is told to end, agent runs in progress with it. What it bought stays bought; the same command goes on.`,
    );
    return exitCodes.ok;
  });
}
