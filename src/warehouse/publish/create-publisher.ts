import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import type {
  Published,
  Publisher,
  PublishRecord,
  PublishRequest,
  PublishSubject,
} from '../../core/publish/publish-request.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { withDraftFolder } from '../../files/draft-folder.js';
import { LockBusy } from '../../files/process-lock.js';
import { memoryFor } from '../export/job-rows.js';
import { whyNoTarget } from '../export/why-no-target.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { folderFiles } from './folder-files.js';
import { publishId } from './manifest.js';
import { publishError } from './publish-error.js';
import { openFiles, publishFiles } from './publish-files.js';
import type { SourceReader } from './source-reader.js';
import { stageTables } from './stage-tables.js';

/** Time for which a publish waits for another publish into the same folder. */
const WAIT_MS = 600_000;

/** The parts of a warehouse for a publish. */
export interface PublishSource {
  /** The file of the warehouse; null for a warehouse on a server. */
  readonly file: string | null;
  readonly say: (sentence: string) => void;
  /** Runs `work` on one state of the source; may repeat `work`. `scratch`: a folder for temporary files, which the caller removes. */
  read<T>(subject: PublishSubject, scratch: string, work: (reader: SourceReader) => Promise<T>): Promise<T>;
}

export function createPublisher({ file, say, read }: PublishSource): Publisher {
  return {
    async publish(request) {
      const folder = resolve(request.to);
      const refuse = (input: string | null) => {
        const why = whyNoTarget('parquet', folder, { into: file, input });
        if (why !== null) throw new WarehouseUnusable(why);
      };
      refuse(null);
      try {
        return await withDraftFolder(
          folder,
          async (drafts) => {
            const files = folderFiles(folder);
            const before = await openFiles(files);
            const staged = await read(request.subject, drafts, (reader) => {
              refuse(reader.input);
              // The warehouse would report an error of the drafts, such as a full disk, as its own.
              return stageTables(reader, join(drafts, 'staged')).catch((error: unknown) => {
                throw publishError(error, folder);
              });
            });
            const record = newRecord(request, staged.run);
            const tables = await withScratchDuckDb(join(drafts, 'spill'), async (connection) => {
              await setMemory(connection, Math.max(...staged.tables.map(({ columns }) => memoryFor(columns.length))));
              return publishFiles({ files, before, staged, request, record, connection, drafts });
            });
            return publishedOf(record, folder, staged.tables, tables);
          },
          { waitMs: WAIT_MS, say },
        );
      } catch (error) {
        if (error instanceof LockBusy)
          throw new WarehouseBusy(`Another publish is writing ${folder}: ${error.message}`, error.pid);
        throw publishError(error, folder);
      }
    },
  };
}

function newRecord({ mode }: PublishRequest, run: string | null): PublishRecord {
  const now = Date.now();
  const id = publishId(now, randomBytes(4).toString('hex'));
  return { id, at: new Date(now).toISOString(), run: run ?? id, mode };
}

/** `tables`: the tables of the target with all their rows; null if nothing was written. */
function publishedOf(
  record: PublishRecord,
  target: string,
  staged: readonly { readonly name: string; readonly rows: number }[],
  tables: readonly { readonly name: string; readonly rows: number }[] | null,
): Published {
  const total = (name: string, rows: number) => tables?.find((table) => table.name === name)?.rows ?? rows;
  return {
    ...record,
    target,
    changed: tables !== null,
    tables: staged.map(({ name, rows }) => ({ name, rows: tables === null ? 0 : rows, total: total(name, rows) })),
  };
}
