import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobEntry } from '../../core/rows/job-entries.js';
import type { StagedRow } from '../../core/rows/row-warehouse.js';
import { folderNames } from '../../files/folder-size.js';
import { writeDurably } from '../../files/write-durably.js';
import { forgetInManifest, forgetInSlice } from '../../rows/index.js';
import type { ForgetParts } from './forget-types.js';

/** Folders of this machine with stages of a job: its own, and copies of those that others staged. */
const foldersOf = ({ config }: Pick<ForgetParts, 'config'>, job: string): readonly string[] =>
  ['stages', 'fetched-stages'].map((name) => join(config.stateDir, name, job));

/** The jobs with staged rows: those of the entries, and others whose command planned or was refused, and so never started. */
export function stagedJobs({ config }: Pick<ForgetParts, 'config'>, entries: readonly JobEntry[]): readonly string[] {
  const folders = ['stages', 'fetched-stages'].flatMap((name) => folderNames(join(config.stateDir, name)));
  return [...new Set([...entries.map(({ staged }) => staged.job), ...folders])];
}

/** Changes of staged rows. */
export interface StagedChange {
  readonly slices: number;
  readonly rows: number;
}

/**
 * Removes the values of staged rows of a job, in all stages that this machine can reach. `isForgotten` is called with every row. With
 * `dryRun`, changes nothing.
 */
export async function forgetStaged(
  parts: Pick<ForgetParts, 'config' | 'store'>,
  job: string,
  isForgotten: (row: StagedRow) => boolean,
  dryRun: boolean,
): Promise<StagedChange> {
  const sum = { slices: 0, rows: 0 };
  const change = async (packed: Uint8Array, take = isForgotten): Promise<Uint8Array | null> => {
    const changed = await forgetInSlice(packed, take);
    if (changed === null) return null;
    sum.slices++;
    sum.rows += changed.rows;
    return dryRun ? null : changed.packed;
  };
  for (const stage of foldersOf(parts, job).flatMap(foldersIn)) {
    const bad = new Set<number>();
    const take = (row: StagedRow) => {
      const found = isForgotten(row);
      if (found && row.k === null) bad.add(row.n);
      return found;
    };
    for (const name of readdirSync(stage).sort()) {
      if (!name.endsWith('.jsonl.gz')) continue;
      const path = join(stage, name);
      const packed = await change(await readFile(path), take);
      if (packed !== null) await writeDurably(path, packed);
    }
    if (bad.size > 0) await forgetInManifest(stage, (row) => bad.has(row), dryRun);
  }
  await parts.store.stages.rewrite(job, (packed) => change(packed));
  return sum;
}

/** Calls `each` with every staged row of a job. */
export async function eachStagedRow(
  parts: Pick<ForgetParts, 'config' | 'store'>,
  job: string,
  each: (row: StagedRow) => void,
): Promise<void> {
  const read = (row: StagedRow) => {
    each(row);
    return false;
  };
  await forgetStaged(parts, job, read, true);
}

/** The complete stages in a folder. */
const foldersIn = (folder: string): readonly string[] =>
  folderNames(folder)
    .filter((name) => !name.startsWith('draft-'))
    .map((name) => join(folder, name));
