import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WindowPages } from '../../core/events/event-warehouse.js';
import type { Transaction } from '../dialect.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { inOneLine, mendBytes, mendSurrogates } from '../shared/mend-escapes.js';
import { withTemporaryFolder } from '../shared/scratch-duckdb.js';
import { duckDbDialect } from './dialect.js';

const KNOWN = ['id', 'object', 'type', 'data', 'createdAt'];
const { id, time } = duckDbDialect;
/**
 * Size of a scratch file. DuckDB holds several copies of a whole file in memory: 64 MB of pages need 48 MB of memory as files
 * of this size, but 250 MB as one file.
 */
const FILE_BYTES = 1_048_576;

/** Writes pages into scratch files for DuckDB, one page on each line. The bytes of a page are not re-coded. */
export const readPages: Transaction['readPages'] = (batch, work) =>
  withTemporaryFolder(async (dir) => {
    const { files, longest } = await write(dir, batch);
    return work((whole) => query(files, longest, whole));
  });

/** Returns the files and the length of the longest line. */
async function write(dir: string, batch: readonly WindowPages[]) {
  const files: ScratchFile[] = [];
  let longest = 0;
  for (const [part, { pages }] of batch.entries()) {
    for (const { page, events } of pages) {
      const line = mendBytes(inOneLine(events), mendSurrogates);
      let file = files.at(-1);
      if (file === undefined || file.bytes >= FILE_BYTES) {
        file = { name: join(dir, `${files.length}.jsonl`), pieces: [], bytes: 0 };
        files.push(file);
      }
      for (const piece of [Buffer.from(`{"part":${part},"page":${page},"events":`), line, Buffer.from('}\n')]) {
        file.pieces.push(piece);
        file.bytes += piece.length;
      }
      longest = Math.max(longest, line.length);
    }
  }
  // Files are written in parallel. In sequence, most of the time would be spent waiting for a thread.
  const written = await Promise.allSettled(
    files.map(({ name, pieces }) => writeFile(name, Buffer.concat(pieces), { mode: 0o600 })),
  );
  for (const one of written) if (one.status === 'rejected') throw one.reason;
  return { files: files.map(({ name }) => name), longest: longest + 100 };
}

interface ScratchFile {
  readonly name: string;
  readonly pieces: Uint8Array[];
  bytes: number;
}

/**
 * Query of the events in the files. Events are read as structs, or with `whole` as maps. Reading maps takes longer and keeps unknown
 * fields. DuckDB's buffers have twice the size of the longest line.
 */
function query(files: readonly string[], longest: number, whole: boolean): string {
  const form = whole ? 'MAP(VARCHAR, JSON)' : 'STRUCT(id VARCHAR, type VARCHAR, "createdAt" VARCHAR, data JSON)';
  const lines = `read_json([${files.map((file) => literal(plainPath(file))).join(', ')}], format = 'newline_delimited', compression = 'uncompressed',
    columns = {part: 'INTEGER', page: 'INTEGER', events: '${form}[]'}, maximum_object_size = ${longest})`;
  const each = `SELECT part, page, unnest(events) AS e, generate_subscripts(events, 1) AS n FROM ${lines}`;
  if (!whole) {
    return `SELECT part, page, n, ${id('e.id')} AS id, coalesce(e.type, 'unknown') AS type, ${time('e."createdAt"')} AS created_at, e.data AS data FROM (${each}) l`;
  }
  const text = (name: string) => `json_extract_string(e['${name}'], '$')`;
  const strange = `list_filter(map_entries(e), lambda one: one.key NOT IN ('${KNOWN.join("', '")}'))`;
  return `SELECT part, page, n, ${id(text('id'))} AS id, coalesce(${text('type')}, 'unknown') AS type, ${time(text('createdAt'))} AS created_at,
      e['data'] AS data, CASE WHEN cardinality(e) <> ${KNOWN.length} OR e['object'] IS NULL THEN
        CASE WHEN len(${strange}) > 0 THEN to_json(map_from_entries(${strange})) END END AS extra
    FROM (${each}) l`;
}
