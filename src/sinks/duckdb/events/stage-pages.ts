import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RawPage, WindowPages } from '../../../core/event-warehouse.js';
import type { StagedPages } from '../../events/event-sql.js';
import { hasHalves, inOneLine } from '../../events/one-line.js';
import { mendSurrogates } from '../../mend-escapes.js';
import { literal, plainPath } from '../quote.js';
import { duckDbDialect } from './duckdb-dialect.js';

const KNOWN = ['id', 'object', 'type', 'data', 'createdAt'];
const { time } = duckDbDialect;

/** Bytes of a scratch file: DuckDB unpacks all of a file at once, into four times the room. */
const FILE_BYTES = 4 * 1_048_576;

/** Writes pages into scratch files, a line each, for DuckDB to read: as they came, bytes and all. */
export async function stagePages(batch: readonly WindowPages[]): Promise<StagedPages> {
  const dir = await mkdtemp(join(tmpdir(), 'searchflow-events-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const lines = batch.flatMap(({ pages }, part) => pages.map((page) => lineOf(part, page)));
    const files: string[] = [];
    for (let from = 0, to = 0; from < lines.length; from = to) {
      for (let bytes = 0; to < lines.length && bytes < FILE_BYTES; to++) bytes += sizeOf(lines[to] as Line);
      const file = join(dir, `${files.length}.jsonl`);
      await write(file, lines.slice(from, to));
      files.push(file);
    }
    const longest = Math.max(0, ...lines.map(sizeOf));
    return { events: (whole) => query(files, longest, whole), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A line of a scratch file, in pieces: the events are not copied. */
type Line = readonly Uint8Array[];

function lineOf(part: number, { page, events }: RawPage): Line {
  return [
    Buffer.from(`{"part":${part},"page":${page},"events":`),
    inOneLine(events, hasHalves, mendSurrogates),
    Buffer.from('}\n'),
  ];
}

function sizeOf(line: Line): number {
  return line.reduce((sum, { length }) => sum + length, 0);
}

async function write(file: string, lines: readonly Line[]): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writev(lines.flat());
  } finally {
    await handle.close();
  }
}

/**
 * The events in the files. A map instead of a structure only where fields that nobody knows matter: it takes longer. Buffers are
 * of twice the size of the longest line.
 */
function query(files: readonly string[], longest: number, whole: boolean): string {
  const form = whole ? 'MAP(VARCHAR, JSON)' : 'STRUCT(id VARCHAR, type VARCHAR, "createdAt" VARCHAR, data JSON)';
  const lines = `read_json([${files.map((file) => literal(plainPath(file))).join(', ')}], format = 'newline_delimited', compression = 'uncompressed',
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
