import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sink } from 'searchflow/worker';

/**
 * Writes each batch as one object of JSON lines: `rows/<batchId>.jsonl`. A batch that comes again replaces its object with the same content. In
 * a bucket, put the object under this name; a put replaces an object in one step, as the rename does here.
 */
export function jsonLinesSink(folder: string): Sink {
  return {
    async load({ table, batchId, rows }, { signal }) {
      await mkdir(join(folder, table), { recursive: true });
      const object = join(folder, table, `${batchId}.jsonl`);
      const draft = `${object}.${process.pid}.${Math.random().toString(36).slice(2)}.draft`;
      const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      try {
        await writeFile(draft, lines, { signal, flush: true });
        await rename(draft, object);
      } finally {
        await rm(draft, { force: true });
      }
    },
  };
}
