import type { Output } from '../../api/command-outputs.js';
import { eventTypes } from '../../core/events/payloads.js';
import type { WalkInput } from '../../core/events/walk-job.js';
import type { SyncEventsInput } from '../../core/workflow-input-schemas.js';
import type { WalkSummary } from '../../core/workflow-result-schemas.js';
import { JobFailed, type WorkflowAccess } from '../../worker/config/runtime-types.js';
import { EventControl, type Target } from '../../worker/control/event-control.js';
import { WalkHandle } from '../../worker/control/job-handle.js';
import { findWalk } from '../../worker/runtime/job-lists.js';
import type { Runtime } from '../../worker/runtime/runtime.js';
import { readAll, refuse } from '../flag-values.js';
import { serviceText, showStarted } from '../progress/plan.js';
import { followJob } from '../progress/progress.js';
import { showPause } from '../progress/summary.js';
import { keepSchedule, toScheduleWish } from '../schedules.js';
import { checkWarehouse } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { type Session, settings, withRuntime } from '../shared/session.js';
import { withAccess } from '../shared/with-access.js';
import { printable } from '../text.js';
import { differs, meantType, walkProgress, walkText } from './events.js';

export interface WalkManner {
  /** Whether a verification with differences fails although it repaired all of them. */
  readonly strict?: boolean;
  /** Whether any pause ends the watch, also that by a person. */
  readonly untilPaused?: boolean;
}

export async function watchWalk(
  session: Context & Pick<Session, 'runtime' | 'stopped'>,
  handle: Pick<WalkHandle, 'job' | 'workflowId' | 'progress' | 'result'>,
  manner: WalkManner = {},
): Promise<ExitCode> {
  const followed = await followJob(session, handle, walkProgress(), manner).catch(withResumeHint);
  if (followed.kind === 'parked') return showPause(session, handle.job, followed.progress, LOADED_EVENTS);
  const { summary } = followed;
  session.terminal.tell<Output<'walk'>>({ kind: 'events', job: handle.job, ...summary }, walkText(summary, Date.now()));
  return exitCodeOf(summary, manner);
}

export const LOADED_EVENTS = 'Loaded events';

/** Adds two facts to the message of a cancellation by another command: nothing is lost, and how to resume. */
function withResumeHint(error: unknown): never {
  if (!(error instanceof JobFailed) || error.phase !== 'cancelled') throw error;
  const text = `${error.message}. Loaded events are kept; run its events command to resume.`;
  throw new JobFailed(text, { cause: error.cause });
}

/** Returns the exit code of a walk. A verification fails if the service no longer returns events that the warehouse has. */
function exitCodeOf({ phase, verified }: WalkSummary, { strict = false }: WalkManner): ExitCode {
  if (phase !== 'done') return exitCodes.stopped;
  if (!verified) return exitCodes.ok;
  return verified.gone > 0 || (strict && differs(verified)) ? exitCodes.failed : exitCodes.ok;
}

/** Returns the walk that a command names; null for other jobs. */
export async function walkNamed(
  runtime: Pick<Runtime, 'jobs' | 'workflows'>,
  name: string,
): Promise<WalkHandle | null> {
  const found = findWalk(await runtime.jobs.walks(), name);
  return found && new WalkHandle((await runtime.workflows()).client, found.workflowId, found.job);
}

export async function sync(context: Context, flags: Flags<'events sync'>): Promise<ExitCode> {
  const { wish, options, mistakes } = readAll({
    wish: () => toScheduleWish(flags),
    options: () => toWalkOptions(flags),
  });
  const input = { kind: 'sync', ...options } as const;
  if (wish === null) return run(context, flags, input, mistakes);
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, {}, async ({ runtime }) => {
    noteTypes(context, input);
    if (wish.timing !== 'never') await checkWarehouse(config, flags.into);
    const access = await runtime.workflows();
    const control = new EventControl(access, context.cwd);
    const { job, workflowId, input: walk } = control.work({ ...input, ...control.target(flags.into) });
    const { kind: _, ...scheduled } = walk;
    const work = { workflow: 'syncEvents', workflowId, input: scheduled } as const;
    return keepSchedule(context, access, wish, { name: job, work, isResult: true });
  });
}

export const backfill = (context: Context, flags: Flags<'events backfill'>) => walkRange(context, flags, {});
export const verify = (context: Context, flags: Flags<'events verify'>) => walkRange(context, flags, { verify: true });

async function walkRange(context: Context, flags: Flags<'events backfill'>, how: { readonly verify?: true }) {
  const { range, options, mistakes } = readAll({
    range: () => toRange(flags, Date.now()),
    options: () => toWalkOptions(flags),
  });
  return run(context, flags, { kind: 'backfill', ...how, ...range, ...options }, mistakes);
}

async function run(
  context: Context,
  flags: Pick<Flags<'events sync'> & Flags<'events verify'>, 'into' | 'qps' | 'rateProfile' | 'detach' | 'strict'>,
  input: WalkInput,
  mistakes: readonly string[],
): Promise<ExitCode> {
  const { terminal } = context;
  const work = async (access: WorkflowAccess, session: Session) => {
    noteTypes(context, input);
    const control = new EventControl(access, context.cwd);
    const walk: WalkInput & Target = { ...input, ...control.target(flags.into) };
    if (flags.detach) {
      await (await session.runtime.work()).checkDetached(control.work(walk));
      const { handle } = await control.start(walk, { detached: true });
      return showStarted(context, { job: handle.job, state: 'started' });
    }
    await (await session.runtime.work()).own(control.work(walk));
    const { handle, joined } = await control.start(walk);
    session.working(handle.job);
    const what = joined ? 'resumed' : 'started';
    terminal.note(
      `${handle.job} ${what}: webset events of ${serviceText(session.config)} into ${printable(walk.into)}.`,
    );
    return watchWalk(session, handle, { strict: flags.strict });
  };
  return withAccess(context, flags, mistakes, work, { loads: true, owns: true, detached: flags.detach });
}

function noteTypes({ terminal }: Context, { types }: Pick<WalkInput, 'types'>): void {
  const note = typesNote(types ?? undefined);
  if (note !== null) terminal.note(terminal.colors.yellow(`Note: ${printable(note, 1000)}`));
}

export function toWalkOptions(
  flags: Pick<Flags<'events sync'>, 'type' | 'parallel' | 'unchecked'>,
): Pick<SyncEventsInput, 'types' | 'parallel' | 'unchecked'> {
  const { type, parallel, unchecked } = flags;
  const types = [...new Set((type ?? []).flatMap((text) => text.split(',')).map((text) => text.trim()))];
  const wrongTypes = types.flatMap((one) => {
    const meant = unchecked ? null : meantType(one);
    return meant === null
      ? []
      : [`--type: '${one}' is not an event type; did you mean ${meant}? To send it unchanged, pass --unchecked.`];
  });
  refuse(types.includes('') && '--type: name an event type, such as webset.item.created.', ...wrongTypes);
  return { types: types.length === 0 ? undefined : types.sort(), parallel, unchecked };
}

/**
 * Returns a note about unknown event types, or null if all are known. The service may have new types, so unknown types are
 * allowed.
 */
export function typesNote(types: readonly string[] = []): string | null {
  const strange = types.filter((type) => !eventTypes.includes(type));
  if (strange.length === 0) return null;
  const which = strange.length === 1 ? 'Unknown event type' : 'Unknown event types';
  return `${which}: ${strange.join(', ')}. The service may refuse a type that it does not know. Known types: ${[...eventTypes].sort().join(', ')}.`;
}

export function toRange(
  { from, until }: Pick<Flags<'events backfill'>, 'from' | 'until'>,
  now: number,
): { readonly from: string; readonly until?: string } {
  refuse(
    from === undefined &&
      '--from is required: a UTC date (2026-01-01) or an age (30d). To load all events:\n  searchflow events sync',
    from && until && from >= until ? '--from must be before --until.' : null,
    from && from > now ? '--from is in the future.' : null,
  );
  const iso = (at: number | undefined) => new Date(at ?? 0).toISOString();
  return { from: iso(from), until: until === undefined ? undefined : iso(until) };
}
