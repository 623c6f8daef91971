import { shellWord } from '../../core/text/shell-word.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { EventControl } from '../../worker/control/event-control.js';
import { findWalk } from '../../worker/control/find-walk.js';
import type { Runtime } from '../../worker/runtime/views.js';
import { walkNamed, watchWalk } from '../events/watch-walk.js';
import { readAll, readFailureLimit, readMaxCost, spelled } from '../flag-values.js';
import { showStarted } from '../progress/plan.js';
import { checkConnection } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { printable } from '../text.js';
import { watchToEnd } from './run-enrich.js';
import { statusLine } from './status.js';

/** `searchflow pause JOB`: stops sending until `resume`. Paid requests in flight land. */
export async function pause(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const { say } = context.terminal;
    const toResume = `To resume it:\n  searchflow resume ${shellWord(printable(job))}`;
    const walk = await walkNamed(runtime, job);
    const found = walk === null ? await runtime.rows.status(job) : null;
    if (found?.phase === 'paused') {
      // The line has the way to resume, which depends on the reason of the pause.
      say(statusLine(found, Date.now()));
      return exitCodes.ok;
    }
    const handle = walk ?? (await runtime.rows.attach(job));
    await handle.pause({ isAbandoned: await runtime.work.isAbandoned(handle.workflowId) });
    say(
      found?.phase === 'waiting'
        ? `${printable(handle.job)} pauses as soon as a worker runs; nothing is sent until then. ${toResume}`
        : `Pausing ${printable(handle.job)}; paid requests in flight still land. ${toResume}`,
    );
    return exitCodes.ok;
  });
}

/**
 * `searchflow resume JOB`: resumes a job and watches the job to its end. Flags change the cap of the run or the limit of failed
 * answers, or accept rows that the service refuses.
 */
export async function resume(context: Context, job: string, flags: Flags<'resume'>): Promise<ExitCode> {
  const { maxCostDollars, stopAtFailed, mistakes } = readAll({
    maxCostDollars: () => readMaxCost(flags.maxCost),
    stopAtFailed: () => readFailureLimit(flags),
  });
  const config = settings(context, flags, mistakes);
  const { json = false, detach: detached = false } = flags;
  return withRuntime(context, config, { sends: !detached }, async (session) => {
    if (detached) await session.runtime.work.checkDetached();
    await refuseOtherService(session.runtime, job, config.origin);
    await checkConnection(config);
    if (!detached) session.working();
    const walk = findWalk(await session.runtime.jobs.walks(), job);
    if (walk) {
      const [ofRows] = (['redrive', 'skipRefused', 'stopAtFailed', 'acceptWarning'] as const).filter(
        (name) => flags[name],
      );
      if (ofRows) throw new UsageError('option-unusable', `${spelled(ofRows)} is for jobs of rows, not for events.`);
      if (maxCostDollars !== undefined)
        throw new UsageError('option-unusable', '--max-cost is not for events: reading them is free.');
      if (detached) await session.runtime.work.checkDetached(walk);
      else {
        session.working(walk.job);
        await session.runtime.work.own(walk);
      }
      const control = new EventControl(await session.runtime.workflows(), context.cwd);
      const handle = await control.resume(walk, { detached });
      return detached
        ? showStarted(context, { job: walk.job, state: 'started' }, json)
        : watchWalk(context, session, handle, { json });
    }
    const how = {
      maxCostDollars,
      redrive: flags.redrive,
      skipRefused: flags.skipRefused,
      stopAtFailed,
      acceptWarnings: flags.acceptWarning,
    };
    if (detached) {
      const started = await session.runtime.rows.resume(job, how, { detached });
      return showStarted(context, { job: started.job, state: 'started' }, json);
    }
    const handle = await session.runtime.rows.resume(job, how);
    session.working(handle.job);
    return watchToEnd(context, config, session, handle, { json, csv: null, badRows: [] });
  });
}

/**
 * Throws `UsageError` if the job belongs to another service. Such a difference arises if an API key was set or unset after
 * the job started.
 */
export async function refuseOtherService(runtime: Runtime, job: string, origin: string): Promise<void> {
  const mine = (await runtime.jobs.known()).filter((one) => one.job === job || one.name === job);
  const [first] = mine;
  if (!first || mine.some((one) => one.origin === origin)) return;
  throw new UsageError(
    'other-service',
    first.origin === 'sandbox'
      ? `Job ${first.job} belongs to the sandbox. Unset the API key to resume it.`
      : `Job ${first.job} belongs to ${first.origin}. Set SEARCHFLOW_API_KEY (and SEARCHFLOW_BASE_URL) to resume it.`,
  );
}

/**
 * `searchflow cancel JOB`: ends a job after paid requests in flight have landed and its agent runs are cancelled. Paid results
 * are kept.
 */
export async function cancel(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const walk = await walkNamed(runtime, job);
    if (walk) {
      await walk.cancel();
      context.terminal.say(
        `Cancelling ${printable(walk.job)}. Loaded events are kept; run its events command to resume.`,
      );
      return exitCodes.ok;
    }
    const handle = await runtime.rows.attach(job);
    await handle.cancel();
    // A run that no worker has read leaves no record once it has ended.
    const found = await runtime.rows.status(job).catch(() => null);
    const name = printable(handle.job);
    context.terminal.say(
      found?.phase === 'waiting'
        ? `${name} is cancelled, but no worker is running. Paid results are kept. To end it:\n  searchflow worker`
        : `Cancelling ${name}. Its runs at the service, if any, are ended. Paid results are kept.${found === null ? '' : ` ${handle.wayToResume()}`}`,
    );
    return exitCodes.ok;
  });
}
