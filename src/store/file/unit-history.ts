import type { ActivityQuery, ActivityStep } from '../../core/purchase/activity.js';
import { type Attempt, isUnsent, type UnitHistory } from '../../core/purchase/attempts.js';
import { jobOf } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';
import type { LandedUnits } from './landed-units.js';
import { readSegment, type Segment } from './segment.js';
import type { SegmentStore } from './segment-store.js';
import type { SegmentLine } from './unit-record.js';

export type Intent = Extract<SegmentLine, { t: 'intent' }>;
type Ended = Extract<SegmentLine, { t: 'answer' | 'miss' }>;

/** The segments of a journal. `read` passes the lines of a segment to `each`, in their order. */
type Segments = readonly { readonly name: string; read(each: (line: SegmentLine) => void): void }[];

type Sums = { -readonly [Name in keyof ActivityStep]: ActivityStep[Name] };

/** See `JournalReport.activity`. Memory is bounded by the number of windows, not of purchases. */
export async function fileActivity(segments: Segments, team: string, query: ActivityQuery): Promise<ActivityStep[]> {
  const { job, since, until, stepMs, windowMs, shares, usual } = query;
  const shareOf = new Map(shares.map((share) => [share.operation, share]));
  const steps = new Map<string, Sums>();
  const windows = new Map<string, number>();
  for (const { name, read } of segments) {
    if (job !== null && jobOf(name) !== job) continue;
    const intents = new Map<string, Intent>();
    // An answer may come after the miss of the same request; the answer counts.
    const ends = new Map<string, Ended>();
    read((line) => {
      if (line.t === 'intent') intents.set(line.id, line);
      else if (line.t === 'answer' || (line.t === 'miss' && ends.get(line.id)?.t !== 'answer')) ends.set(line.id, line);
      else if (line.t === 'note' && ends.get(line.id)?.t === 'miss') ends.delete(line.id);
    });
    for (const [id, intent] of intents) {
      const end = ends.get(id);
      if (intent.team !== team || intent.at < since || intent.at >= until) continue;
      if (end?.t === 'miss' && end.charged === 'never' && end.status === undefined) continue;
      const { bucket, units } = shareOf.get(intent.op) ?? usual;
      const at = intent.at - (intent.at % stepMs);
      const step = steps.get(`${bucket} ${at}`) ?? emptyStep(bucket, at);
      steps.set(`${bucket} ${at}`, step);
      step.requests++;
      step.units += units;
      const window = `${bucket} ${at} ${Math.floor(intent.at / windowMs)}`;
      const before = windows.get(window);
      const inWindow = (before ?? 0) + units;
      windows.set(window, inWindow);
      if (before === undefined) step.active++;
      step.busiest = Math.max(step.busiest, inWindow);
      if (end?.t === 'answer') {
        const seconds = Math.max(0, (end.at - intent.at) / 1000);
        step.answered++;
        step.seconds += seconds;
        step.slowest = Math.max(step.slowest, seconds);
      } else if (end?.t === 'miss') {
        if (end.charged === 'maybe') step.lost++;
        else if (end.status === 429) {
          step.limited++;
          step.waitSeconds += (end.wait ?? 0) / 1000;
        } else step.failed++;
      }
    }
    // Lets signals of the process be handled while a large journal is read.
    await new Promise(setImmediate);
  }
  return [...steps.values()].sort((a, b) => (a.bucket < b.bucket ? -1 : a.bucket > b.bucket ? 1 : a.at - b.at));
}

const emptyStep = (bucket: string, at: number): Sums => ({
  ...{ bucket, at, requests: 0, units: 0, active: 0, busiest: 0 },
  ...{ answered: 0, seconds: 0, slowest: 0, limited: 0, waitSeconds: 0, failed: 0, lost: 0 },
});

type IntentLine = Extract<SegmentLine, { t: 'intent' }>;
type EndLine = Extract<SegmentLine, { t: 'answer' | 'miss' }>;

interface Followed {
  readonly intent: IntentLine;
  readonly keys: readonly string[];
  end: EndLine | null;
  run: string | null;
}

interface HistoryParts {
  readonly segments: SegmentStore;
  readonly units: LandedUnits;
}

/** See `PurchaseHistory.history`. Reads the lines of the segments of these jobs, and of the segments that have the answers of the units. */
export function readHistory(
  parts: HistoryParts,
  keys: readonly string[],
  jobs: readonly string[],
  texts = false,
): ReadonlyMap<string, UnitHistory> {
  const wanted = new Set(keys);
  const attempts = new Map<string, Attempt[]>([...wanted].map((key) => [key, []]));
  const answered = new Set([...wanted].flatMap((key) => parts.units.get(key)?.segment ?? []));
  /** Keys whose newest end is an outcome without a request, by the time of that outcome. */
  const recorded = new Map<string, number>();
  for (const segment of parts.segments.segments) {
    if (!jobs.includes(jobOf(segment.name)) && !answered.has(segment.number)) continue;
    const lines = linesOf(parts.segments.lineFile(segment.name), wanted);
    for (const [key, at] of lines.recorded) recorded.set(key, Math.max(at, recorded.get(key) ?? 0));
    for (const followed of lines.intents)
      for (const key of followed.keys)
        attempts.get(key)?.push({
          ...attemptOf(segment, followed, key),
          came: texts ? ((followed.end?.t === 'miss' ? followed.end.came : null) ?? null) : undefined,
        });
  }
  return new Map(
    [...attempts].map(([key, all]) => {
      const entry = parts.units.get(key);
      const landed = entry && {
        segment: parts.segments.numbered(entry.segment).name,
        at: entry.at,
        status: entry.status,
        tag: entry.tag,
        bought: recorded.get(key) !== entry.at,
        bytes: entry.length === 0 ? null : entry.length,
        inJournal: !parts.units.isGone(key),
      };
      return [key, { attempts: all.sort((a, b) => a.at - b.at), landed: landed ?? null }];
    }),
  );
}

function linesOf(path: string, wanted: ReadonlySet<string>) {
  const intents = new Map<string, Followed>();
  const recorded = new Map<string, number>();
  readSegment(path, (line) => {
    if (line.t === 'settle') {
      for (const [key] of line.units) if (wanted.has(key)) recorded.set(key, line.at);
      return;
    }
    if (line.t === 'intent') {
      const keys = line.keys.filter((key) => wanted.has(key));
      if (keys.length > 0) intents.set(line.id, { intent: line, keys, end: null, run: null });
      return;
    }
    const followed = intents.get(line.id);
    if (!followed) return;
    // A run that is found reopens its purchase.
    if (line.t === 'note') Object.assign(followed, { end: null, run: runOf(line.facts) });
    else followed.end = line;
  });
  return { intents: intents.values(), recorded };
}

function attemptOf(segment: Segment, { intent, end, run }: Followed, key: string): Attempt {
  const { op: operation, at, keys, est } = intent;
  const base = { segment: segment.name, operation, at, run, units: keys.length };
  if (end?.t === 'answer') {
    const share = end.units.find(([unit]) => unit === key)?.[6] ?? 0;
    const requestMicros = end.units.reduce((sum, unit) => sum + unit[6], 0);
    const answer = { requestId: end.req, reason: null, costMicros: share, requestMicros };
    return { ...base, endedAt: end.at, outcome: 'landed', ...answer };
  }
  const none = { requestId: null, requestMicros: est };
  if (end?.t === 'miss') {
    const { why: reason, charged } = end;
    const lost = { ...none, requestMicros: end.est ?? est, costMicros: null };
    if (charged === 'maybe') return { ...base, ...lost, endedAt: end.at, outcome: 'unknown', reason };
    const outcome = isUnsent(reason) ? 'unsent' : 'free';
    return { ...base, ...none, endedAt: end.at, outcome, reason, costMicros: 0, requestMicros: 0 };
  }
  // The process that has sent the request is dead, and a worker will record this.
  const reason = segment.whyLost(intent.id);
  return { ...base, ...none, endedAt: null, outcome: reason === null ? 'open' : 'unknown', reason, costMicros: null };
}

function runOf(facts: Json): string | null {
  const run = (facts as { readonly run?: unknown } | null)?.run;
  return typeof run === 'string' ? run : null;
}
