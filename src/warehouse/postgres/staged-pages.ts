import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WindowPages } from '../../core/events/event-warehouse.js';
import { replaceTokens } from '../../core/text/exact-json.js';
import type { PgTransaction } from '../../postgres/index.js';
import type { StagedEvents } from '../dialect.js';
import { inOneLine, mendBytes, mendForPostgres } from '../shared/mend-escapes.js';

/** Format of COPY with a delimiter and a quote that no JSON text contains, so that each field is taken as it is. */
const RAW = `(FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL '')`;
const BETWEEN = '\x02';

/**
 * Copies pages into a temporary table, one page in each row; the server parses each page once. Values that jsonb cannot hold are repaired.
 * For a page with such values the column `exact` has the original events.
 */
export async function stagePages(tx: PgTransaction, batch: readonly WindowPages[]): Promise<StagedEvents> {
  await tx.query('CREATE TEMP TABLE event_pages (part integer, page integer, exact json, events jsonb) ON COMMIT DROP');
  // Pages are read once and dropped. Compressing the pages would take longer than the rest of the load.
  await tx.query('ALTER TABLE event_pages ALTER COLUMN events SET STORAGE EXTERNAL');
  await tx.query('SAVEPOINT pages');
  try {
    await copy(tx, batch, (page) => mendBytes(page, mendForPostgres));
  } catch (error) {
    // Numbers out of range are repaired only after the server has refused such a number.
    if ((error as { code?: unknown }).code !== '22003') throw error;
    await tx.query('ROLLBACK TO SAVEPOINT pages');
    await copy(tx, batch, (page) => Buffer.from(mendForPostgres(quoteHuge(page.toString()))));
  }
  // OFFSET 0 prevents a join before the pages are unpacked: a page would then be unpacked once for each of its events.
  return () => `SELECT p.part, p.page, l.n, searchflow_id(l.value ->> 'id') AS id, coalesce(l.value ->> 'type', 'unknown') AS type,
        searchflow_time(l.value ->> 'createdAt') AS created_at, l.value -> 'data' AS data,
        nullif(l.value - '{id,object,type,data,createdAt}'::text[], '{}') AS extra,
        CASE WHEN l.exact::text ~ '\\\\u0000|\\\\u[dD][89a-fA-F]|[eE][+-]?[0-9]{4}|[0-9.]{255}' THEN l.exact END AS event_exact
      FROM event_pages p CROSS JOIN LATERAL
        ROWS FROM (jsonb_array_elements(p.events), json_array_elements(p.exact)) WITH ORDINALITY l(value, exact, n)
      OFFSET 0`;
}

async function copy(tx: PgTransaction, batch: readonly WindowPages[], mend: (page: Buffer) => Buffer): Promise<void> {
  const { from } = await import('pg-copy-streams');
  await pipeline(Readable.from(lines(batch, mend)), tx.client.query(from(`COPY event_pages FROM STDIN ${RAW}`)));
}

function* lines(batch: readonly WindowPages[], mend: (page: Buffer) => Buffer): Generator<Uint8Array | string> {
  for (const [part, { pages }] of batch.entries()) {
    for (const { page, events } of pages) {
      const exact = inOneLine(events);
      const mended = mend(exact);
      yield [part, page, ''].join(BETWEEN);
      if (mended !== exact) yield exact;
      yield BETWEEN;
      yield mended;
      yield '\n';
    }
  }
}

/** Numbers with an exponent of four digits or more, or with a thousand digits, become texts. Texts that look like such numbers do not change. */
function quoteHuge(json: string): string {
  const huge = /-?\d+(?:\.\d+)?[eE][+-]?\d{4,}|-?[\d.]{1000,}(?:[eE][+-]?\d+)?/;
  return replaceTokens(json, huge, (token) => `"${token}"`);
}
