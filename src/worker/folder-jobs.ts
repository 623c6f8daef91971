import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { JobEntries, JobEntry, WalkEntry } from '../core/job-entries.js';
import { makeFolder } from '../files/make-folder.js';
import { writeDurably } from '../files/write-durably.js';
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
});

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

  constructor(dir: string) {
    this.#dir = dir;
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

  get #walks(): string {
    return join(this.#dir, 'walks');
  }

  #path(job: string): string {
    if (!/^[\w.-]+$/.test(job) || job.startsWith('.')) throw new UsageError(`"${job}" can't be the id of a job`);
    return join(this.#dir, `${job}.json`);
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
