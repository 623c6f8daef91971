import { isUnderWay } from '../../core/job.js';
import type { WalkEntry } from '../../core/job-entries.js';
import { SinkBusy } from '../../core/sink.js';
import type { WalkProgress } from '../../core/walk-job.js';
import { eventPlace } from '../../worker/event-control.js';
import { type EventStatus, readEventStatus } from '../../worker/event-status.js';
import type { Runtime, RuntimeConfig } from '../../worker/runtime-types.js';
import { answered } from '../answered.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import type { EventFlags } from '../event-flags.js';
import { runningText, statusData, statusText } from '../render/events.js';
import { printable } from '../render/printable.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';
import { walkNamed } from '../walk-named.js';
import { settingsOf } from './events-walk.js';

/** A walk that is under way, and where it stands. */
interface Running {
  readonly job: string;
  readonly progress: WalkProgress;
}

/** `searchflow events status`: what the warehouse says of its events, and which walks are under way. */
export async function status(context: Context, flags: EventFlags): Promise<ExitCode> {
  const config = settings(context, settingsOf(flags));
  const into = eventPlace(config, flags.into, context.cwd);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const mine = (await runtime.walks()).filter((walk) => walk.into === into && walk.origin === config.origin);
    return show(context, config, runtime, { into, walks: mine, json: flags.json ?? false });
  });
}

/** `searchflow status JOB` of a walk: the same, of its own stream. */
export async function walkStatus(
  context: Context,
  config: RuntimeConfig,
  runtime: Runtime,
  walk: WalkEntry,
  json: boolean,
): Promise<ExitCode> {
  const { into, origin } = walk;
  return show(context, { ...config, origin }, runtime, { into, walks: [walk], json });
}

async function show(
  context: Context,
  config: RuntimeConfig,
  runtime: Runtime,
  { into, walks, json }: { readonly into: string; readonly walks: readonly WalkEntry[]; readonly json: boolean },
): Promise<ExitCode> {
  const { terminal } = context;
  const found = await read(config, into);
  const running = await underWay(
    runtime,
    walks.filter((walk) => mayRun(walk, found)),
  );
  const now = Date.now();
  if (found instanceof SinkBusy) {
    // The walks themselves tell what they know; a file that somebody else has is a failure.
    if (running.length === 0) throw found;
    terminal.say(`${printable(found.message)}; what the walks say that load it:`);
  }
  const held = found instanceof SinkBusy ? null : found;
  if (json) terminal.data(JSON.stringify(statusData(held, running, into, config.origin, now)));
  else if (held?.streams.length === 0 && running.length === 0)
    terminal.say(
      `No events of ${printable(config.origin)} are in ${printable(into)}; \`searchflow events sync\` loads them.`,
    );
  else terminal.data([...running.map(runningText), ...(held ? [statusText(held, into, now)] : [])].join('\n'));
  return exitCodes.ok;
}

async function read(config: RuntimeConfig, into: string): Promise<EventStatus | SinkBusy> {
  try {
    return await readEventStatus(config, into);
  } catch (error) {
    if (error instanceof SinkBusy) return error;
    throw error;
  }
}

/** Whether it is worth asking a server, which may have to be started for it: something is left to do, or it can't be seen. */
function mayRun({ stream }: WalkEntry, found: EventStatus | SinkBusy): boolean {
  if (found instanceof SinkBusy) return true;
  const known = found.streams.find((one) => one.stream === stream);
  return !known || known.pending.length > 0;
}

/** Walks that have not ended. One that nobody answers for is told by its marks in the warehouse. */
async function underWay(runtime: Runtime, walks: readonly WalkEntry[]): Promise<readonly Running[]> {
  const found: Running[] = [];
  for (const { job } of walks) {
    const progress = await answered(
      () => walkNamed(runtime, job),
      async (walk) => walk?.progress(),
    ).catch(() => null);
    if (progress && isUnderWay(progress.phase)) found.push({ job, progress });
  }
  return found;
}
