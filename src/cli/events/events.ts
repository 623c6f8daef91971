import type { Differences, StreamListing, Verification } from '../../core/events/event-warehouse.js';
import type { WalkHeartbeat, WalkProgress, WalkSummary } from '../../core/events/walk-job.js';
import type { EventStatus } from '../../worker/warehouse/event-status.js';
import { progressText } from '../progress/progress-line.js';
import { count, duration, some } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';
import { WalkProgressReader } from './walk-progress.js';

/** A moment as people and other programs read it, without what is always zero. */
const moment = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');
const ago = (at: number, now: number) => `${duration(Math.max(0, (now - at) / 1000))} ago`;

/** How a walk ended, for a person. */
export function walkText(summary: WalkSummary, now: number): string {
  const { events, added, changed, seconds, watermark, into, phase, message, verified } = summary;
  const read = `${some(events, 'event')} read in ${duration(seconds)}`;
  const lines: string[] = [];
  if (phase === 'stopped') lines.push(`Stopped: ${printable(message ?? 'no reason was given')}`);
  if (verified) lines.push(`${titleOf(summary.stream)}: ${read}.`, ...verifiedLines(verified));
  else if (events === 0) lines.push(`${titleOf(summary.stream)}: nothing more to load.`);
  else
    lines.push(
      `${titleOf(summary.stream)}: ${read}, ${count(added)} new${changed > 0 ? `, ${count(changed)} with newer contents` : ''}.`,
    );
  if (watermark !== null && !verified)
    lines.push(`Newest event loaded: ${moment(watermark)} (${ago(watermark, now)}).`);
  return [...lines, `Warehouse: ${printable(into)}`].join('\n');
}

/** `sync` as `Synced`, others with their stretch. */
function titleOf(stream: string): string {
  const [kind, stretch = '', types] = stream.split(' ');
  const only =
    types === undefined
      ? ''
      : ` (${types
          .split(',')
          .map((type) => printable(type))
          .join(', ')})`;
  if (kind === 'sync') return `Synced${stretch === '' ? '' : ` (${printable(stretch)})`}`;
  return `${kind === 'verify' ? 'Verified' : 'Backfilled'} ${spanText(stretch)}${only}`;
}

/** `2025-01-01 to 2025-01-31`, of the stretch in a stream's name. */
function spanText(stretch: string): string {
  const [from = '', until = ''] = stretch.split('..');
  return `${short(from)} to ${until === '' ? 'a minute ago' : endOf(until)}`;
}

/** A day where it is a whole one. */
function short(iso: string): string {
  return printable(iso === '' ? 'the beginning' : iso.replace('T00:00:00.000Z', '').replace('.000Z', 'Z'));
}

/** The last day of a stretch that ends with a day, as `--until` takes it. */
function endOf(iso: string): string {
  if (!iso.endsWith('T00:00:00.000Z')) return short(iso);
  return short(new Date(Date.parse(iso) - 86_400_000).toISOString());
}

function verifiedLines({ missing, changed, gone, days }: Verification): string[] {
  if (missing + changed + gone === 0)
    return ['The warehouse has every event that the service has, with the same contents.'];
  const rows: [number, string][] = [
    [missing, 'missing; loaded now'],
    [changed, 'changed; mended now'],
    [gone, 'gone: the service shows them no more; kept'],
  ];
  const table = columns([
    ['day', 'missing', 'changed', 'gone'],
    ...days.map((day) => [day.day, count(day.missing), count(day.changed), count(day.gone)]),
  ]);
  return [
    ...rows.filter(([events]) => events > 0).map(([events, what]) => `${count(events).padStart(9)}  ${what}`),
    ...table.map((line) => `  ${line}`),
    'Which: the table event_checks, by the id of the event.',
  ];
}

/** Whether anything was found to differ. */
export function differs({ missing, changed, gone }: Differences): boolean {
  return missing + changed + gone > 0;
}

/** A walk that is under way. */
export interface Running {
  readonly job: string | null;
  readonly progress: WalkProgress;
  readonly running: readonly WalkHeartbeat[];
}

/** A walk that has windows left and does not go on, as far as can be seen from here. */
export interface Halted {
  /** Null for one of another folder. */
  readonly job: string | null;
  readonly stream: string;
  /** `silent`: nobody answers for it. */
  readonly state: 'failed' | 'stopped' | 'silent';
  readonly message: string | null;
  /** The command that makes it go on; null where only the client can that began it. */
  readonly goOn: string | null;
}

/** A walk that is under way, in a line. */
export function runningText({ job, progress, running }: Running): string {
  const { phase, pausedFor, message } = progress;
  const shown = progressText(new WalkProgressReader().line(0, progress, running, null));
  const why = pausedFor === null ? '' : ` (${pausedFor})`;
  return `${printable(job ?? progress.stream)}: ${phase}${why}, ${shown}${message === null ? '' : `\n  ${printable(message)}`}`;
}

/** What a warehouse holds of a service's events, for a person; of one that can't be read just the walks that don't go on. */
export function statusLines(
  held: EventStatus | null,
  halted: readonly Halted[],
  into: string,
  now: number,
): readonly string[] {
  const { streams = [], types = [] } = held ?? {};
  const strange = halted.filter(({ stream }) => !streams.some((one) => one.stream === stream));
  const ended = strange.flatMap((one) => [
    `${printable(one.job ?? one.stream)}: ${stateOf(one)}`,
    ...haltedLines(one).map((line) => `  ${line}`),
  ]);
  if (held === null) return ended;
  const events = types.reduce((sum, one) => sum + one.events, 0);
  return [
    ...ended,
    `Warehouse: ${printable(into)}`,
    ...streams.flatMap((stream) =>
      streamLines(
        stream,
        halted.find((one) => one.stream === stream.stream),
        now,
      ),
    ),
    `${some(events, 'event')} of ${some(types.length, 'type')}:`,
    ...columns([
      ['type', 'events', 'latest'],
      ...types.map(({ type, events: how, known, latest }) => [
        `${printable(type, 80)}${known ? '' : ' (unknown)'}`,
        count(how),
        latest === null ? '-' : moment(latest),
      ]),
    ]).map((line) => `  ${line}`),
  ];
}

const stateOf = ({ state }: Halted) => (state === 'silent' ? 'under way' : state);

/** Why it does not go on, and what makes it. */
function haltedLines({ state, message, goOn }: Halted): string[] {
  const why = state === 'silent' ? 'no server or worker answers for it' : message;
  return [
    ...(why === null ? [] : [`why: ${printable(why, 1000)}`]),
    `to go on: ${goOn === null ? 'start its workflow again, with the same input' : printable(goOn, 1000)}`,
  ];
}

function streamLines(listing: StreamListing, halted: Halted | undefined, now: number): string[] {
  const { stream, watermark, completedAt, to, pending, windows, share, events } = listing;
  const [kind = '', stretch = '', ...types] = stream.split(' ');
  const name = kind === 'sync' ? stream : [kind, spanText(stretch), ...types].join(' ');
  const lines = [`${printable(name)}:`];
  if (pending.length > 0) {
    // What the windows that are done cover; the beginning of everything is of no length.
    const part = share === null || share === 0 ? '' : ` (${Math.floor(share * 100)}% of its time)`;
    const state = halted ? stateOf(halted) : 'under way';
    lines.push(
      `  ${state}: ${windows - pending.length} of ${some(windows, 'window')} done${part}, ${some(events, 'event')} read`,
      ...(halted ? haltedLines(halted).map((line) => `    ${line}`) : []),
    );
  }
  if (kind === 'sync' || pending.length === 0) {
    // Newer ones may be there behind a window that is not done.
    const [what, none] = pending.length === 0 ? ['newest event loaded', 'none'] : ['complete up to', 'nowhere yet'];
    const lag = (at: number) => duration(Math.max(0, (now - at) / 1000));
    lines.push(`  ${what}: ${watermark === null ? none : `${moment(watermark)} (lag ${lag(watermark)})`}`);
  }
  if (completedAt !== null)
    lines.push(
      `  last complete run: ${ago(completedAt, now)}${pending.length > 0 || to === null ? '' : `, up to ${moment(to)}`}`,
    );
  else if (pending.length === 0) lines.push('  no run is complete yet');
  return lines;
}

/** The same for machines: times ISO 8601, spans in seconds. */
export function statusData(
  held: EventStatus | null,
  { running, halted }: { readonly running: readonly Running[]; readonly halted: readonly Halted[] },
  into: string,
  origin: string,
  now: number,
): object {
  const { streams = [], types = [] } = held ?? {};
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const since = (at: number | null) => (at === null ? null : Math.max(0, Math.round((now - at) / 1000)));
  return {
    kind: 'events',
    // False: the warehouse is in use, and only what runs can be told.
    known: held !== null,
    running: running.map(({ job, progress }) => ({ job, ...progress })),
    halted,
    into,
    origin,
    events: types.reduce((sum, one) => sum + one.events, 0),
    streams: streams.map(({ pending, lengthMs: _, ...one }) => ({
      ...one,
      kind: one.stream.split(' ', 1)[0],
      watermark: iso(one.watermark),
      lagSeconds: since(one.watermark),
      completedAt: iso(one.completedAt),
      completedSecondsAgo: since(one.completedAt),
      sweptAt: iso(one.sweptAt),
      beganAt: iso(one.beganAt),
      from: iso(one.from),
      to: iso(one.to),
      windowsLeft: pending.length,
    })),
    types: types.map((one) => ({ ...one, latest: iso(one.latest) })),
  };
}

/** A walk's result for machines. */
export function walkData(job: string, summary: WalkSummary): object {
  const { watermark } = summary;
  return { kind: 'events', job, ...summary, watermark: watermark === null ? null : new Date(watermark).toISOString() };
}
