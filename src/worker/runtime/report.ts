import { setTimeout as sleep } from 'node:timers/promises';
import { operationTable } from '../../api/index.js';
import { bucketsFor, type RateBucket } from '../../core/limiter/rate.js';
import type { ActivityQuery, ActivityStep, RateShare } from '../../core/purchase/activity.js';
import type { Report, ReportedJob, ReportedStream, ReportWish } from '../../core/report.js';
import type { JobEntry } from '../../core/rows/job-entries.js';
import type { LoadStep, RecordedRun, RowFigures } from '../../core/rows/row-figures.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { rateProfileOf } from '../config/rate-setting.js';
import { findJob } from '../staging/find-job.js';
import { readEventStatus } from '../store/event-status.js';
import { jobStatuses } from './job-lists.js';
import type { RuntimeParts } from './runtime-parts.js';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Lengths of steps, in ms. */
const STEPS = [2, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200].map((seconds) => seconds * 1000);
const LEAST_STEP_MS = STEPS[0] as number;
const MOST_STEPS = 48;
/** Purchases within this time are divided into minutes or less, others into days. */
const NEAR_MS = 3 * DAY_MS;
/** The windows for purchases within this time, in ms. */
const WINDOWS = [
  { within: 10 * MINUTE_MS, windowMs: 2000 },
  { within: 240 * MINUTE_MS, windowMs: 10_000 },
] as const;
const MOST_TIMES = 20_000;
const MOST_HOSTS = 12;
const MOST_RUNS = 20;
const MOST_UNKNOWN = 30;
const MOST_JOBS = 30;
/** Longest wait for a worker to close its DuckDB file. A worker closes the file a quarter of a second after its last load. */
const PATIENCE_MS = 8000;
const AGAIN_MS = 200;

/** Reads the figures of a report from store and warehouses, without Temporal's help. Databases add up, so memory does not grow with the rows. */
export async function readReport(parts: RuntimeParts, { job, since, until }: ReportWish): Promise<Report> {
  const { config, store } = parts;
  const entry = job === null ? null : await findJob(store.entries, job);
  const id = entry?.staged.job ?? null;
  const journal = await store.journal();
  const profile = rateProfileOf(config);
  const shares = sharesOf(profile.buckets, profile);
  const usual = { bucket: bucketsFor(profile, 'default')[0]?.name ?? 'all', units: 1 };
  const read = (query: Pick<ActivityQuery, 'since' | 'until' | 'stepMs' | 'windowMs'>) =>
    journal.report.activity({ ...query, job: id, shares, usual });
  const { active: bought, windowMs, activity } = await zoom(read, since, until);
  const hasBought = activity.length > 0;
  const missing: string[] = [];
  const times = id === null ? [] : await journal.report.requestTimes(id, since, MOST_TIMES);
  const found =
    entry === null
      ? null
      : await patiently(() =>
          parts.warehouses.of(entry.staged).figures({
            ...{ job: entry.staged.job, since: bought.since, stepMs: hasBought ? bought.stepMs : LEAST_STEP_MS, times },
            ...{ mostHosts: MOST_HOSTS, mostRuns: MOST_RUNS },
          }),
        );
  // The answers of a job that bought nothing are older than its run.
  const drawn = found === null || hasBought ? null : overLoads(found, { since, until });
  const active = drawn?.active ?? bought;
  const figures = found && drawn ? { ...found, loads: drawn.loads } : found;
  const unknown = id === null ? [] : [...(await journal.totals(`${id}/`)).unknown];
  const newestFirst = unknown.sort((a, b) => b.intendedAt - a.intendedAt);
  const usage = new Map((await journal.usage('job', since, until)).map((line) => [line.group, line]));
  const entries = entry === null ? [...(await store.entries.all())].reverse().slice(0, MOST_JOBS) : [entry];
  const statuses = await jobStatuses(parts, entries);
  const jobs: ReportedJob[] = [];
  for (const [nth, one] of entries.entries()) {
    const { staged } = one;
    const { phase = null, message = null } = statuses[nth] ?? {};
    jobs.push({
      ...{ job: staged.job, name: staged.name, phase: phase ?? one.state.phase, message },
      rows: figures?.summary ?? one.state.counts ?? (await countedNow(parts, one, missing)),
      usage: usage.get(staged.job) ?? null,
    });
  }
  const [reported] = jobs;
  return {
    job:
      entry === null || !reported
        ? null
        : { ...reported, operation: entry.staged.operation, input: entry.staged.input, into: entry.staged.into },
    origin: entry?.staged.origin ?? config.origin,
    team: config.team ?? null,
    at: Date.now(),
    ...{ since, until, active },
    limits: { profile: profile.name, windowMs, buckets: profile.buckets },
    activity,
    days: await journal.report.days(id, since, until),
    caps: await journal.caps(),
    spent: await journal.spent(),
    unknown: newestFirst.slice(0, MOST_UNKNOWN),
    unknownCount: unknown.length,
    figures,
    jobs: entry === null ? jobs : [],
    runs: figures?.runs ?? (await teamRuns(parts, entries, missing)),
    streams: entry === null ? await streamsOf(parts, missing) : [],
    missing,
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

type Read = (query: Pick<ActivityQuery, 'since' | 'until' | 'stepMs' | 'windowMs'>) => Promise<readonly ActivityStep[]>;

interface Span {
  readonly since: number;
  readonly until: number;
}

/** Whole steps that contain a span. */
const inSteps = ({ since, until }: Span, stepMs: number): Report['active'] => ({
  since: since - (since % stepMs),
  until: Math.ceil(until / stepMs) * stepMs,
  stepMs,
});
const daysFor = ({ since, until }: Span): number => DAY_MS * Math.ceil((until - since) / DAY_MS / MOST_STEPS);

/** Finds the time with purchases, and divides it into about `MOST_STEPS` steps of seconds, minutes or days. */
async function zoom(read: Read, since: number, until: number) {
  const narrow = async (span: Span, stepMs: number): Promise<Span | null> => {
    const starts = (await read({ ...span, stepMs, windowMs: stepMs })).map(({ at }) => at);
    return starts.length === 0 ? null : { since: Math.min(...starts), until: Math.max(...starts) + stepMs };
  };
  const divided = async (span: Span, stepMs: number, windowMs: number) => {
    const active = inSteps(span, stepMs);
    const asked = { since: Math.max(since, active.since), until: Math.min(until, active.until) };
    return { active, windowMs, activity: await read({ ...asked, stepMs, windowMs }) };
  };
  const days = await narrow({ since, until }, DAY_MS);
  if (days === null) return { active: { since, until, stepMs: DAY_MS }, windowMs: MINUTE_MS, activity: [] };
  if (days.until - days.since > NEAR_MS) return divided(days, daysFor(days), MINUTE_MS);
  const minutes = (await narrow(days, MINUTE_MS)) ?? days;
  const windowMs = WINDOWS.find(({ within }) => minutes.until - minutes.since <= within)?.windowMs ?? MINUTE_MS;
  const span = (await narrow(minutes, windowMs)) ?? minutes;
  const fits = (step: number) => step % windowMs === 0 && (span.until - span.since) / step <= MOST_STEPS;
  return divided(span, STEPS.find(fits) ?? (STEPS.at(-1) as number), windowMs);
}

/**
 * The time of the loads of a job without purchases, from the start of the run that made the first of them, and the loads in at most
 * `MOST_STEPS` steps.
 */
export function overLoads(
  { loads, runs }: Pick<RowFigures, 'loads' | 'runs'>,
  { since, until }: Pick<ReportWish, 'since' | 'until'>,
): { readonly active: Report['active']; readonly loads: readonly LoadStep[] } {
  if (loads.length === 0) return { active: { since, until, stepMs: DAY_MS }, loads };
  const times = loads.map(({ at }) => at);
  const [first, last] = [Math.min(...times), Math.max(...times) + LEAST_STEP_MS];
  const starts = runs.filter(({ endedAt }) => endedAt >= first).map(({ startedAt }) => startedAt);
  const from = Math.max(since, Math.min(first, ...starts));
  const fits = (step: number) => (last - from) / step <= MOST_STEPS;
  const span = { since: from, until: last };
  const stepMs = STEPS.find(fits) ?? daysFor(span);
  const sums = new Map<number, LoadStep>();
  for (const load of loads) {
    const at = load.at - (load.at % stepMs);
    const { rows = 0, failed = 0 } = sums.get(at) ?? {};
    sums.set(at, { at, rows: rows + load.rows, failed: failed + load.failed });
  }
  return { active: inSteps(span, stepMs), loads: [...sums.values()] };
}

/** Repeats a read while another process has the warehouse, for a few seconds. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || Date.now() > until) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

/** A report on the team has the figures that can be read. */
async function orMissing<T>(missing: string[], read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof WarehouseBusy || error instanceof WarehouseUnusable)) throw error;
    if (!missing.includes(error.message)) missing.push(error.message);
    return null;
  }
}

const countedNow = ({ warehouses }: RuntimeParts, { staged }: JobEntry, missing: string[]) =>
  orMissing(missing, () => warehouses.of(staged).summary(staged.job));

/** The newest runs in the warehouses of these jobs. */
async function teamRuns({ warehouses }: RuntimeParts, entries: readonly JobEntry[], missing: string[]) {
  const places = new Map(entries.map(({ staged }) => [`${staged.host ?? ''} ${staged.into}`, staged]));
  const runs: RecordedRun[] = [];
  for (const staged of places.values())
    runs.push(...((await orMissing(missing, () => patiently(() => warehouses.of(staged).lastRuns(MOST_RUNS)))) ?? []));
  return runs.sort((a, b) => b.endedAt - a.endedAt).slice(0, MOST_RUNS);
}

/** The streams of events that the store knows, by their warehouses. */
async function streamsOf({ config, store }: RuntimeParts, missing: string[]): Promise<readonly ReportedStream[]> {
  const places = new Map((await store.entries.walks()).map((walk) => [`${walk.origin} ${walk.into}`, walk]));
  const streams: ReportedStream[] = [];
  for (const { origin, into } of places.values()) {
    const status = await orMissing(missing, () => readEventStatus({ ...config, origin }, into));
    for (const { stream, watermark, completedAt, pending } of status?.streams ?? [])
      streams.push({ ...{ stream, into, upTo: watermark, completedAt }, pending: pending.length });
  }
  return streams;
}
