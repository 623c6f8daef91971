import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { JobEntries, JobEntry } from '../core/job-entries.js';
import { UsageError } from './runtime-types.js';

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
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const path = this.#path(entry.staged.job);
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(entry, null, 2), { mode: 0o600 });
    renameSync(draft, path);
  }

  async all(): Promise<JobEntry[]> {
    if (!existsSync(this.#dir)) return [];
    const files = readdirSync(this.#dir)
      .filter((file) => file.endsWith('.json'))
      .map((file) => ({ file, at: statSync(join(this.#dir, file)).mtimeMs }))
      .sort((a, b) => a.at - b.at);
    const entries = await Promise.all(files.map(({ file }) => this.get(file.slice(0, -'.json'.length))));
    return entries.filter((entry) => entry !== null);
  }

  #path(job: string): string {
    if (!/^[\w.-]+$/.test(job) || job.startsWith('.')) throw new UsageError(`"${job}" can't be the id of a job`);
    return join(this.#dir, `${job}.json`);
  }
}
