import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Allowed, JobEntry, OwnedWork, Owner, WalkEntry } from '../../core/job-entry-schemas.js';
import { isUnfinished, type JobEntries, type OwnerChange, type OwnerFacts } from '../../core/rows/job-entries.js';
import { isJobId } from '../../core/rows/job-ids.js';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import { recordFormat } from '../../store/process/folder-format.js';
import { KeptEntries, OwnerLocks } from '../../store/process/kept-entries.js';
import { UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';

/** Longest wait for another claim; a claim takes milliseconds. */
const CLAIM_MS = 30_000;

/** The job entries of a state folder, a small JSON file each. */
export class FolderJobs implements JobEntries {
  readonly #dir: string;
  /** Folder of the owners of work and their locks, next to the folder of the jobs. */
  readonly #ownedDir: string;
  readonly #locks: OwnerLocks;
  readonly #kept: KeptEntries;

  /** `say` is called for each damaged file, which is left out. */
  constructor(dir: string, say: (sentence: string) => void = () => undefined) {
    this.#dir = dir;
    this.#kept = new KeptEntries(say);
    this.#ownedDir = join(dirname(dir), 'owners');
    this.#locks = new OwnerLocks(this.#ownedDir);
  }

  async get(job: string): Promise<JobEntry | null> {
    return isJobId(job) ? this.#read(`${job}.json`) : null;
  }

  async put(entry: JobEntry): Promise<void> {
    await this.#write(this.#dir, this.#path(entry.staged.job), entry);
  }

  async all(): Promise<JobEntry[]> {
    const entries = filesIn(this.#dir).map((file) => this.#kept.unlessDamaged(() => this.#read(file)));
    return entries.filter((entry) => entry !== null);
  }

  async unfinished(): Promise<JobEntry[]> {
    return (await this.all()).filter(isUnfinished);
  }

  /** The entry in a file; null if there is none. Throws `EntryDamaged`. */
  #read(file: string): JobEntry | null {
    const path = join(this.#dir, file);
    if (!existsSync(path)) return null;
    return this.#kept.job(() => readFileSync(path, 'utf8'), path, 'Remove it');
  }

  /** Walks have their own folder and hashed file names, because workflow ids may contain any characters. */
  async putWalk(entry: WalkEntry): Promise<void> {
    await this.#write(this.#walks, join(this.#walks, `${sha256(entry.job).slice(0, 16)}.json`), entry);
  }

  async walks(): Promise<WalkEntry[]> {
    const walks = filesIn(this.#walks).map((file) => {
      const path = join(this.#walks, file);
      return this.#kept.unlessDamaged(() => this.#kept.walk(() => readFileSync(path, 'utf8'), path, 'Remove it'));
    });
    return walks.filter((walk) => walk !== null);
  }

  claim<C extends OwnerChange>(workflowId: string, decide: (claim: OwnerFacts) => C): Promise<C> {
    return withLock(
      join(this.#ownedDir, 'claims.lock'),
      async () => {
        const path = this.#ownedPath(workflowId);
        const claimed = decide({
          owned: existsSync(path) ? this.#owned(path) : null,
          jobs: await this.all(),
          lives: (owner) => this.#lives(owner),
        });
        if (claimed.entry?.now) {
          // A damaged entry throws here, because only a person may remove it.
          await this.get(claimed.entry.job);
          await this.put(claimed.entry.now);
        } else if (claimed.entry) rmSync(this.#path(claimed.entry.job), { force: true });
        if (claimed.owned === null) rmSync(path, { force: true });
        else await this.#write(this.#ownedDir, path, claimed.owned);
        return claimed;
      },
      { waitMs: CLAIM_MS },
    );
  }

  async allow(named: readonly Allowed[]): Promise<void> {
    if (named.length === 0) return;
    await withLock(
      join(this.#ownedDir, 'allowed.lock'),
      async () => {
        const all = new Map([...(await this.allowed()), ...named].map((one) => [JSON.stringify(one), one]));
        await this.#write(dirname(this.#dir), this.#allowedPath, [...all.values()]);
      },
      { waitMs: CLAIM_MS },
    );
  }

  async allowed(): Promise<readonly Allowed[]> {
    return existsSync(this.#allowedPath) ? this.#kept.allowed(readFileSync(this.#allowedPath, 'utf8')) : [];
  }

  async owned() {
    const all = filesIn(this.#ownedDir).map((file) => this.#owned(join(this.#ownedDir, file)));
    return all
      .filter((one) => one !== null)
      .map((one) => ({ ...one, living: one.owners.filter((owner) => this.#lives(owner)) }));
  }

  owner(): Owner {
    return this.#locks.owner();
  }

  close(): void {
    this.#locks.close();
  }

  /** Whether an owner is alive. If the lock of the owner is missing, the owner has ended, or this folder is a copy. */
  #lives(owner: Owner): boolean {
    if (this.#locks.lives(owner)) return true;
    this.#locks.forget(owner);
    return false;
  }

  #owned(path: string): OwnedWork | null {
    return this.#kept.owned(() => readFileSync(path, 'utf8'));
  }

  #ownedPath(workflowId: string): string {
    return join(this.#ownedDir, `${sha256(workflowId).slice(0, 16)}.json`);
  }

  get #allowedPath(): string {
    return join(dirname(this.#dir), 'allowed.json');
  }

  get #walks(): string {
    return join(this.#dir, 'walks');
  }

  #path(job: string): string {
    if (!isJobId(job)) throw new UsageError('job-unknown', `"${job}" is not a valid job id`);
    return join(this.#dir, `${job}.json`);
  }

  async #write(dir: string, path: string, entry: object): Promise<void> {
    await recordFormat(dirname(this.#dir));
    makeFolder(dir);
    await writeDurably(path, JSON.stringify(entry, null, 2));
  }
}

/** The JSON files of a folder, by the time of their last change, the oldest first. */
function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return (
    readdirSync(dir, { withFileTypes: true })
      // Pipes are left out, because reading a pipe would never end.
      .filter((entry) => entry.name.endsWith('.json') && (entry.isFile() || entry.isSymbolicLink()))
      .map(({ name }) => name)
      // A file that was removed in the meantime has no time of change, and counts as the oldest.
      .map((file) => ({ file, at: statSync(join(dir, file), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => a.at - b.at)
      .map(({ file }) => file)
  );
}
