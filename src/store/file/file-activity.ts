import type { ActivityQuery, ActivityStep } from '../../core/purchase/activity.js';
import { jobOf } from '../../core/purchase/journal.js';
import type { SegmentLine } from './segment-lines.js';

type Intent = Extract<SegmentLine, { t: 'intent' }>;
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
