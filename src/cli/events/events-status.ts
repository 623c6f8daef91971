import { DEFAULT_EVENT_WAREHOUSE, type WalkHeartbeat } from '../../core/events/walk-job.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { WalkProgress } from '../../core/workflow-result-schemas.js';
import type { WalkStatus as FoundWalk } from '../../worker/config/runtime-types.js';
import { isSameWarehouse, warehouseOf } from '../../worker/config/warehouse-setting.js';
import type { Runtime } from '../../worker/runtime/runtime.js';
import { type EventStatus, isMissingFile, readEventStatus } from '../../worker/store/event-status.js';
import type { Context, ExitCode, Flags } from '../shared/command.js';
import { type Session, settings, withRuntime } from '../shared/session.js';
import { lines, printable, resumeCommand } from '../text.js';
import { type InterruptedWalk, meantType, runningText, statusData, statusText } from './events.js';

export async function status(context: Context, flags: Flags<'events status'>): Promise<ExitCode> {
  const config = settings(context, flags);
  const into = warehouseOf(config, flags.into, DEFAULT_EVENT_WAREHOUSE, context.cwd);
  return withRuntime(context, config, { bounded: true }, (session) => showEvents(session, into));
}

/** Shows the events of a warehouse. `isWalk`: a walk was asked for, so its state is shown even if the warehouse cannot be read. */
export async function showEvents(
  session: Session,
  into: string,
  { isWalk = false }: { readonly isWalk?: boolean } = {},
): Promise<undefined> {
  const { terminal, config, runtime, cwd, env } = session;
  let problem: Error | null = null;
  const held = await readEventStatus(config, into).catch((error: unknown) => {
    if (!(error instanceof WarehouseBusy || error instanceof WarehouseUnusable)) throw error;
    problem = error;
    return null;
  });
  const walks = (await runtime.jobs.walks()).filter(
    (walk) => isSameWarehouse(walk.into, into) && walk.origin === config.origin,
  );
  const streams = await statuses(runtime, walks, held);
  const running = streams.flatMap(({ job, status }) => (status.state === 'running' ? [{ job, ...status }] : []));
  const isUsual = isSameWarehouse(into, warehouseOf(settings(session, {}), undefined, DEFAULT_EVENT_WAREHOUSE, cwd));
  const interrupted = streams.flatMap(({ job, stream, status }): InterruptedWalk[] => {
    if (status.state === 'running') return [];
    const { state, message } = status;
    const command = walkCommand(stream, isUsual ? null : into);
    return [{ job, stream, state, message, resumeText: command && resumeCommand(command, env) }];
  });
  const now = Date.now();
  // The states of walks are known without the warehouse. If no walk is unfinished, an unreadable warehouse is a failure.
  if (problem !== null && !isWalk && streams.every(({ status }) => status.state === 'done')) throw problem;
  const missing = (problem as Error | null)?.message;
  const data = statusData(held, running, { missing, interrupted, into, origin: config.origin }, now);
  if (held?.streams.length === 0 && streams.length === 0) terminal.tell(data, nothingText(session, into, isUsual));
  else {
    const without = missing !== undefined && `The figures of the warehouse are missing: ${printable(missing, 1000)}`;
    const parts = [running.map(runningText), statusText(data, now) || null, without];
    terminal.print(data, lines(parts));
  }
}

function nothingText({ env, config: { origin } }: Session, into: string, usual: boolean): string {
  const command = resumeCommand(walkCommand('sync', usual ? null : into) ?? [], env);
  const loads = `To load them:\n  ${printable(command, 1000)}`;
  return isMissingFile(into)
    ? `File ${printable(into)} not found; no events of ${printable(origin)} are loaded. ${loads}`
    : `${printable(into)} has no events of ${printable(origin)}. ${loads}`;
}

/** Returns the unfinished walks with their states, one walk for each stream. A running walk of a stream has precedence. */
async function statuses(
  runtime: Runtime,
  walks: readonly WalkEntry[],
  held: EventStatus | null,
): Promise<readonly { readonly job: string | null; readonly stream: string; readonly status: WalkStatus }[]> {
  const streams = held?.streams ?? [];
  const ofStreams = new Map<string, { job: string | null; stream: string; status: WalkStatus }>();
  // Walks that this folder does not know may run elsewhere. The usual command resumes such walks, too.
  for (const { stream, pending } of streams)
    if (pending.length > 0) ofStreams.set(stream, { job: null, stream, status: { state: 'stopped', message: null } });
  for (const walk of walks) {
    const { job, stream } = walk;
    const known = streams.find((one) => one.stream === stream);
    if (known && known.pending.length === 0) continue;
    const asked = stateOf(await runtime.jobs.statusOfWalk(walk));
    // The walk of an unfinished stream is not done, even if its last run is.
    const status: WalkStatus = known && asked.state === 'done' ? { state: 'stopped', message: null } : asked;
    // Without its warehouse, a walk is known only from its workflow, so each state is shown.
    const nothing = held !== null && !known && status.state !== 'running' && status.message === null;
    if (!nothing && ofStreams.get(stream)?.status.state !== 'running') ofStreams.set(stream, { job, stream, status });
  }
  return [...ofStreams.values()];
}

type WalkStatus =
  | { readonly state: 'running'; readonly progress: WalkProgress; readonly running: readonly WalkHeartbeat[] }
  /** `interrupted`: no server or worker answers. `stopped`: the walk was ended, or its server does not know the walk. */
  | { readonly state: 'failed' | 'stopped' | 'interrupted' | 'done'; readonly message: string | null };

/** The state of a walk in a status of events. */
export function stateOf({ phase, shown, message, isAnswered }: FoundWalk): WalkStatus {
  if (shown !== null) return { state: 'running', ...shown };
  if (phase === 'done' || phase === 'failed') return { state: phase, message };
  if (phase === 'cancelled') return { state: 'stopped', message: message ?? 'it was cancelled' };
  // A walk that its server does not know has no state there.
  return { state: isAnswered && (phase === 'stopped' || phase === null) ? 'stopped' : 'interrupted', message };
}

/**
 * Returns the arguments of the command that resumes a stream. Returns null for a stream that a client started without a start
 * time: no command can resume such a stream. `into`: null for the default warehouse.
 */
export function walkCommand(stream: string, into: string | null): readonly string[] | null {
  const [kind = '', ...rest] = stream.split(' ');
  const [range, types] = kind === 'sync' ? [null, rest[0]] : rest;
  const [from = '', until = ''] = range?.split('..') ?? [];
  if (kind !== 'sync' && from === '') return null;
  const given = (types ?? '').split(',');
  return [
    ...['events', kind],
    ...flag('--from', from),
    ...flag('--until', until),
    ...given.flatMap((type) => flag('--type', type)),
    ...(given.some((type) => meantType(type) !== null) ? ['--unchecked'] : []),
    ...flag('--into', into ?? ''),
  ];
}

function flag(name: string, value: string): string[] {
  return value === '' ? [] : [name, value];
}
