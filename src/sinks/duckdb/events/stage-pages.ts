import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WindowPages } from '../../../core/event-warehouse.js';
import type { StagedPages } from '../../events/event-sql.js';
import { hasHalves, inOneLine } from '../../events/one-line.js';
import { mendSurrogates } from '../../mend-escapes.js';
import { literal, plainPath } from '../quote.js';
import { duckDbDialect } from './duckdb-dialect.js';

const KNOWN = ['id', 'object', 'type', 'data', 'createdAt'];
const { time } = duckDbDialect;

/** Writes pages into a scratch file, a line each, for DuckDB to read: as they came, bytes and all. */
export async function stagePages(batch: readonly WindowPages[]): Promise<StagedPages> {
  const dir = await mkdtemp(join(tmpdir(), 'searchflow-events-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const file = join(dir, 'pages.jsonl');
    const longest = await write(file, batch);
    return { events: (whole) => query(file, longest, whole), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Answers with the length of the longest line. */
async function write(file: string, batch: readonly WindowPages[]): Promise<number> {
  const handle = await open(file, 'w', 0o600);
  let longest = 0;
  try {
    for (const [part, { pages }] of batch.entries()) {
      const pieces = pages.flatMap(({ page, events }) => [
        Buffer.from(`{"part":${part},"page":${page},"events":`),
        inOneLine(events, hasHalves, mendSurrogates),
        Buffer.from('}\n'),
      ]);
      for (let index = 1; index < pieces.length; index += 3)
        longest = Math.max(longest, (pieces[index] as Uint8Array).length);
      if (pieces.length > 0) await handle.writev(pieces);
    }
  } finally {
    await handle.close();
  }
  return longest + 100;
}

/**
 * The events in the file. A map instead of a structure only where fields that nobody knows matter: it takes longer. Buffers are
 * of twice the size of the longest line.
 */
function query(file: string, longest: number, whole: boolean): string {
  const form = whole ? 'MAP(VARCHAR, JSON)' : 'STRUCT(id VARCHAR, type VARCHAR, "createdAt" VARCHAR, data JSON)';
  const lines = `read_json(${literal(plainPath(file))}, format = 'newline_delimited', compression = 'uncompressed',
    columns = {part: 'INTEGER', page: 'INTEGER', events: '${form}[]'}, maximum_object_size = ${longest})`;
  const each = `SELECT part, page, unnest(events) AS e, generate_subscripts(events, 1) AS n FROM ${lines}`;
  if (!whole) {
    return `SELECT part, page, n, e.id AS id, e.type AS type, ${time('e."createdAt"')} AS created_at, e.data AS data FROM (${each}) l`;
  }
  const text = (name: string) => `json_extract_string(e['${name}'], '$')`;
  const strange = `list_filter(map_entries(e), lambda one: one.key NOT IN ('${KNOWN.join("', '")}'))`;
  return `SELECT part, page, n, ${text('id')} AS id, ${text('type')} AS type, ${time(text('createdAt'))} AS created_at,
      e['data'] AS data, CASE WHEN cardinality(e) <> ${KNOWN.length} OR e['object'] IS NULL THEN
        CASE WHEN len(${strange}) > 0 THEN to_json(map_from_entries(${strange})) END END AS extra
    FROM (${each}) l`;
}
