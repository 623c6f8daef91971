import type { Output } from '../../api/command-outputs.js';
import { operationTable } from '../../api/index.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { bucketsFor, type RateBucket } from '../../core/limiter/rate.js';
import type { ActivityStep, RateShare } from '../../core/purchase/activity.js';
import { sentenceOf } from '../../core/rows/pause.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { rateProfileOf } from '../config/derived-settings.js';
import { findJob } from '../staging/find-job.js';
import { patiently, readEventStatus } from '../store/event-status.js';
import { statusesOf } from './job-status.js';
import type { RuntimeParts } from './runtime-parts.js';

const MINUTE_MS = 60_000;
/** Lengths of steps, in ms. The windows in which the use of the limit is counted are as long, up to a minute. */
const STEPS = [2, 10, 60, 600, 3600, 21_600, 86_400, 864_000].map((seconds) => seconds * 1000);
const MOST_STEPS = 60;
const MOST_RUNS = 20;
const MOST_UNKNOWN = 30;
const MOST_JOBS = 30;

/** A range of UTC days, Unix ms; `until` is the end of the last day. */
export interface ReportWish {
  /** Name or id of a job; null: the team. */
  readonly job: string | null;
  readonly since: number;
  readonly until: number;
}

/** Reads the figures of a report from store and warehouses, without Temporal's help. Databases add up, so memory does not grow with the rows. */
export async function readReport(parts: RuntimeParts, { job, since, until }: ReportWish): Promise<Output<'report'>> {
  const { config, store } = parts;
  const entry = job === null ? null : await findJob(store.entries, job);
  const id = entry?.staged.job ?? null;
  const journal = await store.journal();
  const profile = rateProfileOf(config);
  const shares = sharesOf(profile.buckets, profile);
  const usual = { bucket: bucketsFor(profile, 'default')[0]?.name ?? 'all', units: 1 };
  const { active, activity } = await zoom(
    (span, stepMs) => journal.report.activity({ ...span, stepMs, windowMs: windowOf(stepMs), job: id, shares, usual }),
    { since, until },
  );
  const figures =
    entry === null
      ? null
      : await patiently(() =>
          parts.warehouses
            .of(entry.staged)
            .figures({ job: entry.staged.job, since: active.since, stepMs: active.stepMs, mostRuns: MOST_RUNS }),
        );
  const unknown = id === null ? [] : [...(await journal.totals(`${id}/`)).unknown];
  const newestFirst = unknown.sort((a, b) => b.intendedAt - a.intendedAt);
  const usage = new Map((await journal.usage('job', since, until)).map((line) => [line.group, line]));
  const entries = entry === null ? [...(await store.entries.all())].reverse().slice(0, MOST_JOBS) : [entry];
  const statuses = await statusesOf(parts, entries);
  const uncounted = figures ? [] : entries.filter(({ state }) => !state.counts);
  const counts = await readEach(uncounted, ({ staged }) => parts.warehouses.of(staged).summary(staged.job));
  const jobs = [];
  for (const [nth, one] of entries.entries()) {
    const { staged } = one;
    const status = statuses[nth] ?? { phase: one.state.phase, message: null };
    jobs.push({
      ...{ job: staged.job, name: staged.name, phase: status.phase, message: sentenceOf(status) },
      rows: figures?.summary ?? one.state.counts ?? counts.found.get(one) ?? null,
      usage: usage.get(staged.job) ?? null,
    });
  }
  const [reported] = jobs;
  const places = new Map(entries.map(({ staged }) => [`${staged.host ?? ''} ${staged.into}`, staged]));
  const runs = await readEach(figures ? [] : places.values(), (staged) =>
    patiently(() => parts.warehouses.of(staged).lastRuns(MOST_RUNS)),
  );
  const newest = [...runs.found.values()].flat().sort((a, b) => b.endedAt - a.endedAt);
  const streams = await streamsOf(parts, entry === null ? await store.entries.walks() : []);
  return {
    kind: 'report',
    about: entry === null ? 'team' : 'job',
    job:
      entry === null || !reported
        ? null
        : { ...reported, operation: entry.staged.operation, input: entry.staged.input, into: entry.staged.into },
    origin: entry?.staged.origin ?? config.origin,
    team: config.team ?? null,
    at: Date.now(),
    ...{ since, until, active },
    limits: { profile: profile.name, windowMs: windowOf(active.stepMs), buckets: profile.buckets },
    activity,
    days: await journal.report.days(id, since, until),
    caps: await journal.caps(),
    spent: await journal.spent(),
    // The units of an unknown outcome are hashes; their number is enough.
    unknown: newestFirst.slice(0, MOST_UNKNOWN).map(({ keys, ...one }) => ({ ...one, units: keys.length })),
    unknownCount: unknown.length,
    figures,
    jobs: entry === null ? jobs : [],
    runs: figures?.runs ?? newest.slice(0, MOST_RUNS),
    streams: [...streams.found.values()].flat(),
    missing: [...new Set([counts, runs, streams].flatMap((read) => read.missing))],
  };
}

/** The share of each operation in the bucket that it fills first. A search may count against further buckets, by a type that no record has. */
function sharesOf(buckets: readonly RateBucket[], profile: { readonly name: string }): readonly RateShare[] {
  return Object.values(operationTable).flatMap(({ name, paid, weight, rateClass }) => {
    if (!paid) return [];
    const ofClass = typeof rateClass === 'string' ? rateClass : name;
    const all = bucketsFor({ ...profile, buckets }, ofClass);
    const lowest = [...all].sort((a, b) => a.qps - b.qps)[0];
    return lowest ? [{ operation: name, bucket: lowest.name, units: weight }] : [];
  });
}

interface Span {
  readonly since: number;
  readonly until: number;
}

const stepFor = ({ since, until }: Span): number =>
  STEPS.find((step) => (until - since) / step <= MOST_STEPS) ?? (STEPS.at(-1) as number);
const windowOf = (stepMs: number): number => Math.min(stepMs, MINUTE_MS);

/** Narrows a range to its steps with purchases, as long as shorter steps fit. */
async function zoom(read: (span: Span, stepMs: number) => Promise<readonly ActivityStep[]>, whole: Span) {
  let active = { ...whole, stepMs: stepFor(whole) };
  for (;;) {
    const { since, until, stepMs } = active;
    const span = { since: Math.max(since, whole.since), until: Math.min(until, whole.until) };
    const activity = await read(span, stepMs);
    const starts = activity.map(({ at }) => at);
    if (starts.length === 0) return { active, activity };
    active = { since: Math.min(...starts), until: Math.max(...starts) + stepMs, stepMs };
    if (stepFor(active) >= stepMs) return { active, activity };
    active.stepMs = stepFor(active);
  }
}

/** Reads each place. A report on the team has the figures that can be read, and the reasons why others cannot. */
async function readEach<P, T>(places: Iterable<P>, read: (place: P) => Promise<T>) {
  const found = new Map<P, T>();
  const missing: string[] = [];
  for (const place of places)
    try {
      found.set(place, await read(place));
    } catch (error) {
      if (!(error instanceof WarehouseBusy || error instanceof WarehouseUnusable)) throw error;
      missing.push(error.message);
    }
  return { found, missing };
}

/** The streams of events that the store knows, by their warehouses. */
function streamsOf({ config }: RuntimeParts, walks: readonly WalkEntry[]) {
  const places = new Map(walks.map((walk) => [`${walk.origin} ${walk.into}`, walk]));
  return readEach(places.values(), async ({ origin, into }) => {
    const { streams } = await readEventStatus({ ...config, origin }, into);
    return streams.map(({ stream, watermark, completedAt, pending }) => ({
      ...{ stream, into, upTo: watermark, completedAt },
      pending: pending.length,
    }));
  });
}
