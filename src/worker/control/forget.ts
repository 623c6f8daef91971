import { existsSync, readdirSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { domainToUnicode } from 'node:url';
import type { Output } from '../../api/command-outputs.js';
import type { JobEntry } from '../../core/job-entry-schemas.js';
import { badRowKey, hasUrl } from '../../core/purchase/forgotten.js';
import { pageUrlOf, parseUrl } from '../../core/purchase/unit-key.js';
import { stagesOf } from '../../core/rows/job-entries.js';
import { isUnderWay } from '../../core/rows/job-names.js';
import {
  type ForgetSubjects,
  type RowReads,
  type RowWarehouse,
  type StagedRow,
  usualCsv,
} from '../../core/rows/row-warehouse.js';
import { JobNotLoaded } from '../../core/rows/warehouse-errors.js';
import { toDo } from '../../core/text/shell-word.js';
import { folderNames, removeFolders } from '../../files/folder-size.js';
import { makeFolder } from '../../files/make-folder.js';
import { writeDurably } from '../../files/write-durably.js';
import { forgetInManifest, forgetInSlice } from '../../rows/index.js';
import { quoted, toUrl } from '../../rows/url-problem.js';
import { warehouseFile } from '../../warehouse/index.js';
import { type JobStatus, type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { findJob, noteState } from '../staging/find-job.js';
import type { PurchaseJournal, Store } from '../store/store.js';
import type { OpenWarehouses } from '../store/warehouses.js';

export interface ForgetPlan {
  readonly subjects: ForgetSubjects;
  /** Where the data is, and how much. Bad rows count as units; units that are recorded as forgotten do not. */
  readonly found: Output<'forgotten'>;
  readonly isEmpty: boolean;
}

/** Drafts of stages that were changed since this time in ms may belong to a command in progress. */
const DRAFT_MS = 600_000;
/** Scratch files of workers that others may run, in ms. */
const SCRATCH_MS = 86_400_000;

/** The warehouses of all jobs that this machine can reach, each once, and a note for each other one. */
function reachableWarehouses({ warehouses }: ForgetParts, entries: readonly JobEntry[]) {
  const found = new Map<string, RowWarehouse>();
  const notes = new Set<string>();
  for (const { staged } of entries.flatMap(stagesOf)) {
    const { into, host = hostname() } = staged;
    const file = warehouseFile(into);
    if (file !== null && host !== hostname())
      notes.add(`The warehouse ${into} is a file on ${host}. Run the same command there, too`);
    else if (file === null || existsSync(file)) found.set(into, warehouses.of(staged));
    else notes.add(`The warehouse ${into} is missing. If it comes back, run the same command again`);
  }
  return { warehouses: [...found].map(([into, rows]) => ({ into, rows })), notes: [...notes] };
}

/**
 * Finds the data that a person wants to remove, and counts it. Changes nothing. Throws `UsageError` for an unknown job, and if a job with this
 * data is running.
 */
export async function planForget(parts: ForgetParts, asked: ForgetWish): Promise<ForgetPlan> {
  const { store } = parts;
  const entries = await store.entries.all();
  const { forgetting } = await store.journal();
  const wish = 'job' in asked ? { job: (await findJob(store.entries, asked.job)).staged.job } : asked;
  const { warehouses, notes } = reachableWarehouses(parts, entries);
  const named = await selectSubjects(parts, wish, { entries, warehouses: warehouses.map(({ rows }) => rows) });
  const already = await forgetting.forgotten();
  const subjects: ForgetSubjects = { keys: [...new Set([...named.keys, ...already])], badRows: named.badRows };
  const isForgotten = forgottenRows(subjects);
  const jobs = new Set(named.jobs);
  let [slices, stagedRows] = [0, 0];
  for (const job of stagedJobs(parts, entries)) {
    const changed = await forgetStaged(parts, job, isForgotten(job), true);
    slices += changed.slices;
    stagedRows += changed.rows;
    if (changed.rows > 0) jobs.add(job);
  }
  const unfinished = await unfinishedJobs(parts);
  for (const job of unfinished) jobs.add(job);
  if (unfinished.length > 0)
    notes.push('An earlier forget was interrupted. The counts contain its data, which is removed now, too');
  const inWarehouses: { into: string; rows: number }[] = [];
  for (const { into, rows } of warehouses) inWarehouses.push({ into, rows: await rows.forget(subjects, true) });
  const { bodies, bytes } = await forgetting.removeBodies(new Set(subjects.keys), true);
  const touched = entries.filter(({ staged }) => jobs.has(staged.job));
  await refuseBusy(parts, touched, wish);
  const units = keysOf(named).filter((key) => !already.has(key)).length;
  const rows = inWarehouses.reduce((sum, one) => sum + one.rows, 0);
  return {
    subjects,
    found: {
      ...{ kind: 'forgotten', state: 'plan', job: null, url: null, ...asked, jobs: [...jobs], units, rows },
      ...{ warehouses: inWarehouses, stagedRows, slices, bodies, bytes },
      csvs: touched.flatMap(({ csv }) => (csv && existsSync(csv) ? [csv] : [])),
      targets: [...new Set(touched.flatMap(targetsOf))].sort(),
      notes,
    },
    isEmpty: units + rows + stagedRows + bodies + unfinished.length === 0,
  };
}

/**
 * Removes the data of a plan. The journal records the units first, so that a killed process leaves nothing that is bought again. The next call
 * removes what it left. `step` gets each step.
 */
export async function forget(
  parts: ForgetParts,
  plan: ForgetPlan,
  step: (what: string) => void = () => undefined,
): Promise<Output<'forgotten'>> {
  const working = await parts.store.work();
  if (working === null)
    throw new UsageError(
      'state-folder-in-use',
      `The worker of this folder is running (PID ${parts.store.holder()}), and has its answers in memory. Stop it, then run forget again`,
    );
  try {
    return await remove(parts, plan, working.journal, step);
  } finally {
    await working.close();
  }
}

async function remove(
  parts: ForgetParts,
  { subjects, found }: ForgetPlan,
  { forgetting }: PurchaseJournal,
  step: (what: string) => void,
): Promise<Output<'forgotten'>> {
  const { config, store } = parts;
  const entries = await store.entries.all();
  const touched = entries.filter(({ staged }) => found.jobs.includes(staged.job));
  await refuseBusy(parts, touched, found.job === null ? null : { job: found.job });
  const notes = [...found.notes];
  step('journal: record the units');
  await forgetting.forget(keysOf(subjects));
  // The file comes after the record: from now on, the next call finds the units in the journal. A killed process may leave only work that
  // cannot be seen in the data.
  step('begin');
  makeFolder(config.stateDir);
  await writeDurably(unfinishedFile(parts), `${JSON.stringify(found.jobs)}\n`);
  const isForgotten = forgottenRows(subjects);
  for (const job of stagedJobs(parts, entries)) {
    step(`staged rows of ${job}`);
    await forgetStaged(parts, job, isForgotten(job), false);
    const stages = join(config.stateDir, 'stages', job);
    const isDraft = (name: string) => name.startsWith('draft-');
    removeFolders(stages, Date.now() - DRAFT_MS, false, isDraft);
    if (removeFolders(stages, Number.POSITIVE_INFINITY, true, isDraft) > 0)
      notes.push(`${stages} has a draft of a command in progress. Run forget again when the command has ended`);
  }
  const { warehouses } = reachableWarehouses(parts, entries);
  for (const { into, rows } of warehouses) {
    step(`rows in ${into}`);
    await rows.forget(subjects, false);
    step(`bytes in ${into}`);
    const problem = await rows.purgeForgotten();
    if (problem !== null) notes.push(problem);
  }
  step('journal: remove the answers');
  await forgetting.removeBodies(new Set(subjects.keys), false);
  step('journal: give back the space');
  const problem = await forgetting.purge();
  if (problem !== null) notes.push(problem);
  step('scratch files');
  const before = store.shared ? Date.now() - SCRATCH_MS : Number.POSITIVE_INFINITY;
  removeFolders(join(config.stateDir, 'scratch'), before, false);
  const csvs: string[] = [];
  for (const entry of touched) {
    step(`counts and CSV of ${entry.staged.job}`);
    const rows = warehouses.find(({ into }) => into === entry.staged.into)?.rows;
    const csv = rows ? await refresh(parts, entry, rows) : null;
    if (csv !== null) csvs.push(csv);
  }
  step('done');
  await rm(unfinishedFile(parts), { force: true });
  return { ...found, state: 'done', csvs, notes };
}

const unfinishedFile = ({ config }: ForgetParts): string => join(config.stateDir, 'forgetting.json');

/** The jobs of a forget on this machine that was killed. */
async function unfinishedJobs(parts: ForgetParts): Promise<readonly string[]> {
  const file = unfinishedFile(parts);
  if (!existsSync(file)) return [];
  try {
    return (JSON.parse(await readFile(file, 'utf8')) as unknown[]).map(String);
  } catch {
    throw new UsageError('state-damaged', `${file} is damaged. Remove it, and run forget again`);
  }
}

/** Counts the rows of a job again, and writes its CSV again if it is on this machine. Returns the path of the CSV, or null. */
async function refresh({ store }: ForgetParts, { staged, csv, state }: JobEntry, rows: RowWarehouse) {
  try {
    const counts = await rows.summary(staged.job);
    if (state.counts) await noteState(store.entries, staged, { ...state, counts });
    if (!csv || !existsSync(csv)) return null;
    await rows.exportCsv(staged.job, csv, staged.csvForm ?? usualCsv);
    return csv;
  } catch (error) {
    if (error instanceof JobNotLoaded) return null;
    throw error;
  }
}

/** The keys under which the journal knows these units and bad rows. */
const keysOf = ({ keys, badRows }: ForgetSubjects): readonly string[] => [
  ...keys,
  ...badRows.map(({ job, hash }) => badRowKey(sha256, job, hash)),
];

function forgottenRows(subjects: ForgetSubjects): (job: string) => (row: StagedRow) => boolean {
  const keys = new Set(keysOf(subjects));
  return (job) =>
    ({ k, h }) =>
      keys.has(k ?? badRowKey(sha256, job, h));
}

/** Throws if a job with this data has a run that has not ended. */
export async function refuseBusy(
  { statuses }: Pick<ForgetParts, 'statuses'>,
  entries: readonly JobEntry[],
  wish: ForgetWish | null,
): Promise<void> {
  for (const [nth, { phase, cancelRequested }] of (await statuses(entries)).entries()) {
    if (phase !== 'waiting' && !isUnderWay(phase)) continue;
    const { job, name } = (entries[nth] as JobEntry).staged;
    const also = wish && 'job' in wish && job !== wish.job && name !== wish.job ? ' and has the same units' : '';
    throw new UsageError(
      'job-running',
      cancelRequested && phase === 'waiting'
        ? `${job} is cancelled${also}, but no worker has ended it, so its rows cannot be forgotten. Start a worker, which ends it, ${toDo('and run forget again', 'worker')}`
        : `${job} is ${phase}${also}, so its rows cannot be forgotten. ${toDo('Cancel it first', 'cancel', job)}`,
    );
  }
}

/** Where data of a job was published, as far as its entry knows. */
const targetsOf = ({ asked, state }: JobEntry): readonly string[] => [
  ...(asked.publish ? [asked.publish.to] : []),
  ...(state.counts?.published ? [state.counts.published.to] : []),
];

export interface ForgetParts {
  readonly config: RuntimeConfig;
  readonly store: Store;
  readonly warehouses: OpenWarehouses;
  statuses(entries: readonly JobEntry[]): Promise<readonly JobStatus[]>;
}

/** What a person wants to forget: the id of a job, or a URL in all jobs. */
export type ForgetWish = { readonly job: string } | { readonly url: string };

/** Why a text names no page to forget; null if it names one. */
export function noUrl(url: string): string | null {
  const text = url.trim();
  return (toUrl(text, 'https') ?? parseUrl(text))
    ? null
    : `${quoted(url)} must be a URL or a domain, such as https://example.com/jane.`;
}

const STAGES = ['stages', 'fetched-stages'] as const;

/** The jobs with staged rows: those of the entries, and others whose command planned or was refused, and so never started. */
export function stagedJobs({ config }: ForgetParts, entries: readonly JobEntry[]): readonly string[] {
  const folders = STAGES.flatMap((name) => folderNames(join(config.stateDir, name)));
  return [...new Set([...entries.map(({ staged }) => staged.job), ...folders])];
}

/**
 * Removes the values of staged rows of a job, in all stages that this machine can reach: its own, copies of those that others staged, and those
 * of the store. `isForgotten` is called with every row. With `dryRun`, changes nothing. Returns the number of changed slices and rows.
 */
export async function forgetStaged(
  { config, store }: ForgetParts,
  job: string,
  isForgotten: (row: StagedRow) => boolean,
  dryRun: boolean,
): Promise<{ readonly slices: number; readonly rows: number }> {
  const sum = { slices: 0, rows: 0 };
  const change = async (packed: Uint8Array, take = isForgotten): Promise<Uint8Array | null> => {
    const changed = await forgetInSlice(packed, take);
    if (changed === null) return null;
    sum.slices++;
    sum.rows += changed.rows;
    return dryRun ? null : changed.packed;
  };
  for (const folder of STAGES.map((name) => join(config.stateDir, name, job)))
    for (const name of folderNames(folder)) {
      if (name.startsWith('draft-')) continue;
      const stage = join(folder, name);
      const bad = new Set<number>();
      const take = (row: StagedRow) => {
        const found = isForgotten(row);
        if (found && row.k === null) bad.add(row.n);
        return found;
      };
      for (const slice of readdirSync(stage).sort()) {
        if (!slice.endsWith('.jsonl.gz')) continue;
        const packed = await change(await readFile(join(stage, slice)), take);
        if (packed !== null) await writeDurably(join(stage, slice), packed);
      }
      if (bad.size > 0) await forgetInManifest(stage, (row) => bad.has(row), dryRun);
    }
  await store.stages.rewrite(job, (packed) => change(packed));
  return sum;
}

/** The units and bad rows that a person names, and their jobs: from stages, warehouses and the journal, because each of them may lack some. */
export async function selectSubjects(
  parts: ForgetParts,
  wish: ForgetWish,
  { entries, warehouses }: { readonly entries: readonly JobEntry[]; readonly warehouses: readonly RowReads[] },
): Promise<ForgetSubjects & { readonly jobs: ReadonlySet<string> }> {
  const [keys, jobs] = [new Set<string>(), new Set<string>()];
  const badRows = new Map<string, ForgetSubjects['badRows'][number]>();
  const add = (job: string, key: string | null, hash: string) => {
    jobs.add(job);
    if (key !== null) keys.add(key);
    else badRows.set(`${job} ${hash}`, { job, hash });
  };
  const eachStagedRow = (job: string, each: (row: StagedRow) => void) =>
    forgetStaged(parts, job, (row) => Boolean(each(row)), true);
  const { forgetting } = await parts.store.journal();
  if ('job' in wish) {
    const { job } = wish;
    jobs.add(job);
    await eachStagedRow(job, ({ k, h }) => add(job, k, h));
    for (const warehouse of warehouses)
      for (const { key, hash } of await warehouse.forgettable({ job })) add(job, key, hash);
    for (const key of await forgetting.keysOf(job)) keys.add(key);
  } else {
    const { isNamed, parts: texts } = namedBy(wish.url.trim());
    for (const job of stagedJobs(parts, entries))
      await eachStagedRow(job, ({ k, h, u, i }) => {
        if (isNamed(u) || i.some(isNamed)) add(job, k, h);
      });
    for (const text of texts) {
      for (const warehouse of warehouses)
        for (const { job, key, hash, unit, cells } of await warehouse.forgettable({ text }))
          if (isNamed(unit) || cells.some(isNamed)) add(job, key, hash);
      await forgetting.search(text, (key, unit) => {
        if (isNamed(JSON.parse(unit) as string)) keys.add(key);
      });
    }
  }
  return { keys: [...keys], badRows: [...badRows.values()], jobs };
}

/** Tells which texts have a URL, in any spelling of its page. Each of these texts has one of `parts` in it, in any case of its letters. */
function namedBy(text: string) {
  const url = toUrl(text, 'https');
  const forms = [...new Set([text, url ?? text])];
  const page = url && pageUrlOf(url);
  const isNamed = (value: string | null): boolean =>
    value !== null &&
    (forms.some((form) => hasUrl(value, form)) ||
      (page !== null && pageUrlOf(toUrl(value.trim(), 'https') ?? '') === page));
  if (url === null) return { isNamed, parts: forms };
  // Every spelling of the page has its host: as it is typed, in Punycode, or in Unicode.
  const { hostname } = new URL(url);
  const [, typed = hostname] = /^https?:\/\/(?:[^/?#]*@)?([^/?#]*?)(?::\d*)?(?:[/?#]|$)/i.exec(url) ?? [];
  const hosts = [typed, hostname, domainToUnicode(hostname)].map((one) => one.toLowerCase());
  return { isNamed, parts: [...new Set(hosts)].filter(Boolean) };
}
