import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { CodedError } from '../../core/errors/coded-error.js';
import { isJobId } from '../../core/rows/job-ids.js';
import type { StagedRows, Stages } from '../../core/rows/stages.js';
import { removeFolders } from '../../files/folder-size.js';
import { makeFolder } from '../../files/make-folder.js';
import { writeDurably } from '../../files/write-durably.js';
import { identifier, type Postgres } from '../../postgres/index.js';

/** Number of stages that are kept for a job, because a current run may read an older stage. */
const KEEP_GENERATIONS = 4;

export interface PgStagesOptions {
  /** Folder on this machine for slices that were staged on another machine. */
  readonly cacheDir: string;
  /** Returns the path of a slice in a folder of slices. */
  readonly sliceFile: (stageDir: string, slice: number) => string;
}

/**
 * Staged rows in a store. The process that staged the rows writes the rows into the store. Each worker that needs a slice copies the slice
 * to a file.
 */
export class PgStages implements Stages {
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #options: PgStagesOptions;

  constructor(postgres: Postgres, options: PgStagesOptions) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#options = options;
  }

  async share({ job, generation, slices, stageDir }: StagedRows): Promise<void> {
    const shared = await this.#postgres.query(
      `UPDATE ${this.#schema}.stages SET shared_at = clock_timestamp() WHERE job = $1 AND generation = $2 RETURNING 1`,
      [job, generation],
    );
    if (shared.length > 0) return;
    const there = await this.#postgres.query<{ slice: number }>(
      `SELECT slice FROM ${this.#schema}.stage_slices WHERE job = $1 AND generation = $2`,
      [job, generation],
    );
    const done = new Set(there.map(({ slice }) => slice));
    for (let slice = 0; slice < slices; slice++) {
      if (done.has(slice)) continue;
      const rows = await compressed(await readFile(this.#options.sliceFile(stageDir, slice)));
      await this.#postgres.query(
        `INSERT INTO ${this.#schema}.stage_slices (job, generation, slice, rows) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
        [job, generation, slice, rows],
      );
    }
    // The stage is recorded last, so that all slices of a recorded stage exist.
    await this.#postgres.query(
      `INSERT INTO ${this.#schema}.stages (job, generation, slices) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
      [job, generation, slices],
    );
    await this.#forgetOld(job);
  }

  async slice(staged: StagedRows, slice: number): Promise<string> {
    const { job, generation, stageDir } = staged;
    const { cacheDir, sliceFile } = this.#options;
    // A generation is the hash of its content, so an existing file has the right content.
    const own = sliceFile(stageDir, slice);
    if (existsSync(own)) return own;
    const path = sliceFile(join(cacheDir, fileName(job), fileName(generation)), slice);
    if (existsSync(path)) return path;
    const [found] = await this.#postgres.query<{ rows: Buffer }>(
      `SELECT rows FROM ${this.#schema}.stage_slices WHERE job = $1 AND generation = $2 AND slice = $3`,
      [job, generation, slice],
    );
    if (!found) {
      throw new CodedError(
        'staged-rows-missing',
        `The store has no slice ${slice} of the staged rows of ${job}. Run the job's command again to stage them; nothing is bought twice`,
      );
    }
    await putFile(path, found.rows);
    return path;
  }

  async forget({ job }: Pick<StagedRows, 'job'>, before: number, dryRun: boolean): Promise<number> {
    const values = [job, before];
    const old = `SELECT generation FROM ${this.#schema}.stages WHERE job = $1 AND shared_at < to_timestamp($2::double precision / 1000)`;
    const [found] = await this.#postgres.query<{ bytes: number }>(
      `SELECT coalesce(sum(octet_length(rows)), 0)::double precision AS bytes FROM ${this.#schema}.stage_slices
       WHERE job = $1 AND generation IN (${old})`,
      values,
    );
    if (!dryRun)
      await this.#postgres.query(
        `WITH old AS (DELETE FROM ${this.#schema}.stages WHERE job = $1 AND generation IN (${old}) RETURNING generation)
         DELETE FROM ${this.#schema}.stage_slices WHERE job = $1 AND generation IN (SELECT generation FROM old)`,
        values,
      );
    return removeFolders(join(this.#options.cacheDir, fileName(job)), before, dryRun) + (found?.bytes ?? 0);
  }

  async rewrite(job: string, change: (packed: Uint8Array) => Promise<Uint8Array | null>): Promise<void> {
    const slices = await this.#postgres.query<{ generation: string; slice: number }>(
      `SELECT generation, slice FROM ${this.#schema}.stage_slices WHERE job = $1 ORDER BY generation, slice`,
      [job],
    );
    const one = 'WHERE job = $1 AND generation = $2 AND slice = $3';
    for (const { generation, slice } of slices) {
      const [found] = await this.#postgres.query<{ rows: Buffer }>(
        `SELECT rows FROM ${this.#schema}.stage_slices ${one}`,
        [job, generation, slice],
      );
      const changed = found ? await change(found.rows) : null;
      if (changed === null) continue;
      await this.#postgres.query(`UPDATE ${this.#schema}.stage_slices SET rows = $4 ${one}`, [
        ...[job, generation, slice, changed],
      ]);
    }
  }

  async #forgetOld(job: string): Promise<void> {
    await this.#postgres.query(
      `WITH old AS (
         DELETE FROM ${this.#schema}.stages WHERE job = $1 AND generation NOT IN (
           SELECT generation FROM ${this.#schema}.stages WHERE job = $1 ORDER BY shared_at DESC LIMIT $2)
         RETURNING generation)
       DELETE FROM ${this.#schema}.stage_slices WHERE job = $1 AND generation IN (SELECT generation FROM old)`,
      [job, KEEP_GENERATIONS],
    );
  }
}

const [unzip, zip] = [promisify(gunzip), promisify(gzip)];

/** Compresses a slice, whose file is gzip without compression. */
const compressed = async (slice: Buffer): Promise<Buffer> => zip(await unzip(slice), { level: 1 });

/** Checks an id of a job or a generation, because workflow inputs contain such ids. */
function fileName(id: string): string {
  if (!isJobId(id)) throw new Error(`"${id}" is not a valid id of staged rows`);
  return id;
}

/** Writes a file whole or not at all. If the file is the first of its folder, old folders beside that folder are removed. */
async function putFile(path: string, data: Buffer): Promise<void> {
  const folder = dirname(path);
  if (makeFolder(folder)) await removeOld(dirname(folder));
  await writeDurably(path, data);
}

async function removeOld(folder: string): Promise<void> {
  const names = await readdir(folder);
  const aged = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), at: (await stat(join(folder, name))).mtimeMs })),
  );
  const old = aged.sort((a, b) => b.at - a.at).slice(KEEP_GENERATIONS);
  for (const { path } of old) await rm(path, { recursive: true, force: true });
}
