import { basename, dirname, join, resolve } from 'node:path';
import { type RowWarehouse, WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { withDraftFolder } from '../../files/draft-folder.js';
import { LockBusy } from '../../files/process-lock.js';
import { realPath } from '../../files/same-file.js';
import type { FileCheck } from '../shared/database.js';
import { warehouseError } from '../shared/duckdb-error.js';
import { exportCsv } from './export-csv.js';
import { exportParquet } from './export-parquet.js';
import type { RowReader } from './job-rows.js';
import { type TargetKind, whyNoTarget } from './why-no-target.js';

/** Time for which an export waits for another export of the same target. */
const WAIT_MS = 600_000;

/** The parts of a warehouse for its exports. */
export interface ExportSource {
  /** The file of the warehouse; null for a warehouse on a server. */
  readonly file: string | null;
  readonly say: (sentence: string) => void;
  readonly checkTarget?: FileCheck | undefined;
  /** Throws if the job does not exist. */
  check(job: string): Promise<void>;
  /** Runs `work` on the rows of a job. `scratch`: a folder for temporary files, which the caller removes. */
  read<T>(job: string, scratch: string, work: (reader: RowReader) => Promise<T>): Promise<T>;
}

/** A step of an export. The step writes to `draft`, beside other drafts in its folder, and then replaces `target` by the draft. */
export type Export<T> = (reader: RowReader, draft: string, target: string) => Promise<T>;

/**
 * Returns `RowWarehouse.exportCsv` and `RowWarehouse.exportParquet`. Exports of one target run one at a time. The target is replaced in one
 * step, or not changed.
 */
export function createExports(source: ExportSource): Pick<RowWarehouse, 'exportCsv' | 'exportParquet'> {
  const { file, say, checkTarget } = source;
  const exporting = async <T>(kind: TargetKind, job: string, path: string, write: Export<T>): Promise<T> => {
    const named = resolve(path);
    const target = join(realPath(dirname(named)), basename(named));
    const refuse = (input: string | null) => {
      const why = whyNoTarget(kind, target, { into: file, input });
      if (why !== null) throw new WarehouseUnusable('output-path-unusable', why);
    };
    await source.check(job);
    refuse(null);
    if (kind === 'csv') await checkTarget?.({ csv: target });
    try {
      return await withDraftFolder(
        target,
        (folder) =>
          source.read(job, folder, (reader) => {
            refuse(reader.rows.input);
            return write(reader, folder, target);
          }),
        { waitMs: WAIT_MS, say },
      );
    } catch (error) {
      if (error instanceof LockBusy)
        throw new WarehouseBusy('target-in-use', `Another export is writing ${target}: ${error.message}`, error.pid);
      // A full disk or a missing permission concerns the target here, not the warehouse.
      throw warehouseError(error, target);
    }
  };
  return {
    exportCsv: (job, path, form) =>
      exporting('csv', job, path, (reader, draft, target) => exportCsv(reader, draft, target, form)),
    exportParquet: (job, dir) => exporting('parquet', job, dir, exportParquet),
  };
}
