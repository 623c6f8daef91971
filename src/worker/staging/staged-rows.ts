import type { StagedJob } from '../../core/rows/job.js';
import type { RowPlace } from '../../core/rows/loaded-row.js';
import type { StagedRow } from '../../core/rows/row-warehouse.js';
import type { Stages } from '../../core/rows/stages.js';
import { readSlice } from '../../rows/index.js';

/** The rows of a job's stage, read slice by slice. */
export class StagedRows {
  /** Why the stage cannot be read; null if it can. */
  problem: string | null = null;
  readonly #stages: Stages;
  readonly #staged: StagedJob;

  constructor(stages: Stages, staged: StagedJob) {
    this.#stages = stages;
    this.#staged = staged;
  }

  /** The slice of a row. */
  sliceOf(row: number): number {
    return Math.floor((row - 1) / Math.max(1, this.#staged.rowsPerSlice));
  }

  /** A row by its number; null if the stage cannot be read. */
  async row(row: number): Promise<StagedRow | null> {
    return (await this.#slice(this.sliceOf(row))).find(({ n }) => n === row) ?? null;
  }

  /** The first row that matches. Reads the stage up to this row. */
  async find(matches: (row: StagedRow) => boolean): Promise<StagedRow | null> {
    for (let slice = 0; slice < this.#staged.slices && this.problem === null; slice++) {
      const found = (await this.#slice(slice)).find(matches);
      if (found) return found;
    }
    return null;
  }

  /** An earlier row with the same unit, which is bought for both. */
  async sharing(row: StagedRow | null): Promise<RowPlace['sharing']> {
    const earlier = row?.d ? await this.find(({ n, k }) => k === row.k && n < row.n) : null;
    return earlier === null ? { rows: 0, first: [] } : { rows: 1, first: [earlier.n] };
  }

  async #slice(slice: number): Promise<readonly StagedRow[]> {
    try {
      return await readSlice(await this.#stages.slice(this.#staged, slice));
    } catch (error) {
      this.problem = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
      return [];
    }
  }
}
