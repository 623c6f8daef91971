import { join } from 'node:path';
import type { Output } from '../../api/command-outputs.js';
import type { JobEntry } from '../../core/job-entry-schemas.js';
import { toDo } from '../../core/text/shell-word.js';
import { folderNames, removeFolders, sizeOf } from '../../files/folder-size.js';
import { lockHolder } from '../../files/process-lock.js';
import { type CleanWish, UsageError } from '../config/runtime-types.js';
import { findJob } from '../staging/find-job.js';
import { isPrunable } from '../store/prune-journal.js';
import type { PurchaseJournal } from '../store/store.js';
import { statusesOf } from './job-status.js';
import type { RuntimeParts } from './runtime-parts.js';

type CleanedItem = Output<'cleaned'>['items'][number];

/** Stages, drafts and scratch files that were used since this time in ms may belong to a command in progress. */
const IN_USE_MS = { stage: 3_600_000, draft: 86_400_000 };
/** No stage is newer than this time from now, whatever the clock of its machine. */
const LATER_MS = 366 * 86_400_000;

/**
 * Removes the state of done jobs that nothing needs: their stages, and bodies that their warehouses have and that are older than
 * `keepLandingMs`; also drafts, scratch files and logs that no process uses. The records of purchases stay. Jobs in any other state are left
 * alone. Throws `UsageError` for a named job that cannot be cleaned.
 */
export async function clean(parts: RuntimeParts, wish: CleanWish): Promise<Output<'cleaned'>> {
  const { config, store } = parts;
  const { stateDir } = config;
  const before = sizeOf(stateDir);
  const now = Date.now();
  const items: CleanedItem[] = [];
  const notes: string[] = [];
  const add = (item: CleanedItem) => {
    if (item.bytes > 0) items.push(item);
  };
  const entries = await doneJobs(parts, wish, now);
  for (const { staged } of entries) {
    // The path in the entry may be that of another folder, of which this one is a copy.
    const folder = join(stateDir, 'stages', staged.job);
    const whole = sizeOf(folder) + (await store.stages.forget(staged, now + LATER_MS, true));
    const own = removeFolders(folder, now - IN_USE_MS.stage, wish.dryRun);
    const shared = await store.stages.forget(staged, now - IN_USE_MS.stage, wish.dryRun);
    add({ what: 'stages', job: staged.job, bytes: own + shared });
    const kept = whole - own - shared;
    if (kept > 0)
      notes.push(
        `Staged rows of ${staged.job} stay (${Math.ceil(kept / 1000)} kB): they were staged in the last hour, and a command may use them. To remove them later, run the same command again.`,
      );
  }
  const isPruned = await withJournal(parts, wish, async (journal) => {
    for (const entry of entries)
      add(await pruneAnswers(parts, journal, entry, now - config.keepLandingMs, wish.dryRun));
  });
  if (!isPruned) notes.push('A worker of this folder is running. It removes loaded answers itself, once a day.');
  if (wish.job === null) {
    const known = new Set((await store.entries.all()).map(({ staged }) => staged.job));
    add({ what: 'drafts', job: null, bytes: removeDrafts(stateDir, known, now - IN_USE_MS.draft, wish.dryRun) });
    const isIdle = store.holder() === null && lockHolder(join(stateDir, 'server.lock')) === null;
    const isLog = (name: string) => isIdle && /\.log$/.test(name);
    add({ what: 'logs', job: null, bytes: removeFolders(stateDir, now - wish.olderThanMs, wish.dryRun, isLog) });
  }
  return {
    ...{ kind: 'cleaned', dryRun: wish.dryRun, folder: stateDir, items, notes },
    bytes: items.reduce((sum, { bytes }) => sum + bytes, 0),
    before,
    after: wish.dryRun ? before : sizeOf(stateDir),
  };
}

async function doneJobs(
  parts: RuntimeParts,
  { job, olderThanMs }: CleanWish,
  now: number,
): Promise<readonly JobEntry[]> {
  const { entries } = parts.store;
  const all = job === null ? await entries.all() : [await findJob(entries, job)];
  const statuses = await statusesOf(parts, all);
  return all.filter(({ staged }, nth) => {
    const { phase, since } = statuses[nth] ?? {};
    const isOld = (since ?? now) <= now - olderThanMs;
    if (phase === 'done' && isOld) return true;
    if (job === null) return false;
    throw new UsageError(
      'job-not-done',
      phase === 'done'
        ? `${staged.job} has ended too lately to be cleaned. ${toDo('To clean it now', 'clean', staged.job, '--older-than', '0s')}`
        : `${staged.job} is ${phase}. Only the state of done jobs can be removed`,
    );
  });
}

/**
 * Calls `work` with a journal whose bodies may be removed. Returns false while a worker of the folder, which keeps the places of bodies in its
 * memory, is running.
 */
async function withJournal(
  { store }: RuntimeParts,
  { dryRun }: CleanWish,
  work: (journal: PurchaseJournal) => Promise<void>,
): Promise<boolean> {
  const isFree = dryRun || store.shared;
  const working = isFree ? null : await store.work();
  if (working === null && !isFree) return false;
  try {
    await work(working?.journal ?? (await store.journal()));
    return true;
  } finally {
    await working?.close();
  }
}

async function pruneAnswers(
  { warehouses }: RuntimeParts,
  journal: PurchaseJournal,
  entry: JobEntry,
  before: number,
  dryRun: boolean,
): Promise<CleanedItem> {
  const { job } = entry.staged;
  const none = { what: 'answers', job, bytes: 0 } as const;
  if (!(await isPrunable(journal, entry, (staged) => warehouses.of(staged), before))) return none;
  const bytes = await journal.prunableBytes(`${job}/`, before);
  if (!dryRun) await journal.prune(`${job}/`, before);
  return { ...none, bytes };
}

/** Removes the drafts of stages, the stages of commands that started no job, and the scratch files of killed processes. */
function removeDrafts(stateDir: string, known: ReadonlySet<string>, before: number, dryRun: boolean): number {
  const stages = join(stateDir, 'stages');
  const drafts = folderNames(stages).reduce((sum, job) => {
    const isUnused = (name: string) => !known.has(job) || name.startsWith('draft-');
    return sum + removeFolders(join(stages, job), before, dryRun, isUnused);
  }, 0);
  return drafts + removeFolders(join(stateDir, 'scratch'), before, dryRun);
}
