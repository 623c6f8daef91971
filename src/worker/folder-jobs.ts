import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Claim, Claimed, JobEntries, JobEntry, OwnedWork, Owner, WalkEntry } from '../core/job-entries.js';
import { makeFolder } from '../files/make-folder.js';
import { withLock } from '../files/process-lock.js';
import { writeDurably } from '../files/write-durably.js';
import { OwnerLocks } from '../store/owner-locks.js';
import { UsageError } from './runtime-types.js';
import { sha256 } from './sha256.js';

const entrySchema = z.object({
  staged: z.looseObject({
    job: z.string(),
    name: z.string(),
    input: z.string(),
    into: z.string(),
    generation: z.string(),
  }),
  named: z.boolean(),
  csv: z.string().nullable(),
  completed: z.string().nullable(),
  workflowId: z.string().optional(),
  asked: z.looseObject({}).optional(),
});

const ownedSchema = z.object({
  workflowId: z.string(),
  job: z.string(),
  owners: z.array(z.object({ id: z.string(), host: z.string(), pid: z.number() })),
});

/** How long a claim waits for another one, which takes milliseconds. */
const CLAIM_MS = 30_000;

const walkSchema = z.looseObject({
  job: z.string(),
  workflowId: z.string(),
  origin: z.string(),
  stream: z.string(),
  into: z.string(),
});

/** The jobs of a folder: a small JSON file each. */
export class FolderJobs implements JobEntries {
  readonly #dir: string;
  /** Beside the jobs: who owns what, and the locks of the owners. */
  readonly #ownedDir: string;
  readonly #locks: OwnerLocks;

  constructor(dir: string) {
    this.#dir = dir;
    this.#ownedDir = join(dirname(dir), 'owners');
    this.#locks = new OwnerLocks(this.#ownedDir);
  }

  async get(job: string): Promise<JobEntry | null> {
    const path = this.#path(job);
    if (!existsSync(path)) return null;
    const parsed = entrySchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    if (!parsed.success)
      throw new UsageError(`${path} is damaged; remove it and run the job's command again (nothing is bought twice)`);
    return parsed.data as unknown as JobEntry;
  }

  async put(entry: JobEntry): Promise<void> {
    await write(this.#dir, this.#path(entry.staged.job), entry);
  }

  async all(): Promise<JobEntry[]> {
    const entries = await Promise.all(filesIn(this.#dir).map((file) => this.get(file.slice(0, -'.json'.length))));
    return entries.filter((entry) => entry !== null);
  }

  /** In a folder of their own, under names of our own: ids of workflows are whatever their client likes. */
  async putWalk(entry: WalkEntry): Promise<void> {
    await write(this.#walks, join(this.#walks, `${sha256(entry.job).slice(0, 16)}.json`), entry);
  }

  async walks(): Promise<WalkEntry[]> {
    const texts = filesIn(this.#walks).map((file) => readFileSync(join(this.#walks, file), 'utf8'));
    return texts.map((text) => walkSchema.parse(JSON.parse(text)) as WalkEntry);
  }

  claim<C extends Claimed>(workflowId: string, decide: (claim: Claim) => C): Promise<C> {
    return withLock(
      join(this.#ownedDir, 'claims.lock'),
      async () => {
        const path = this.#ownedPath(workflowId);
        const claimed = decide({
          owned: existsSync(path) ? readOwned(path) : null,
          jobs: await this.all(),
          lives: (owner) => this.#lives(owner),
        });
        if (claimed.entry?.now) await this.put(claimed.entry.now);
        else if (claimed.entry) rmSync(this.#path(claimed.entry.job), { force: true });
        if (claimed.owned === null) rmSync(path, { force: true });
        else await write(this.#ownedDir, path, claimed.owned);
        return claimed;
      },
      { waitMs: CLAIM_MS },
    );
  }

  async owned() {
    const all = filesIn(this.#ownedDir).map((file) => readOwned(join(this.#ownedDir, file)));
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

  /** An owner without a lock has closed it, or its folder was copied. */
  #lives(owner: Owner): boolean {
    if (this.#locks.lives(owner)) return true;
    this.#locks.forget(owner);
    return false;
  }

  #ownedPath(workflowId: string): string {
    return join(this.#ownedDir, `${sha256(workflowId).slice(0, 16)}.json`);
  }

  get #walks(): string {
    return join(this.#dir, 'walks');
  }

  #path(job: string): string {
    if (!/^[\w.-]+$/.test(job) || job.startsWith('.')) throw new UsageError(`"${job}" can't be the id of a job`);
    return join(this.#dir, `${job}.json`);
  }
}

/** Null for a file that can't be read: the work then belongs to nobody, and whoever claims it writes the file anew. */
function readOwned(path: string): OwnedWork | null {
  try {
    return ownedSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

async function write(dir: string, path: string, entry: object): Promise<void> {
  makeFolder(dir);
  await writeDurably(path, JSON.stringify(entry, null, 2));
}

/** Longest untouched first. */
function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((file) => file.endsWith('.json'))
    .map((file) => ({ file, at: statSync(join(dir, file)).mtimeMs }))
    .sort((a, b) => a.at - b.at)
    .map(({ file }) => file);
}
