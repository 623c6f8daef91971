import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WindowPages } from '../../../core/event-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import type { StagedPages } from '../../events/event-sql.js';
import { hasHalvesOrNul, inOneLine } from '../../events/one-line.js';
import { mendForPostgres } from '../../mend-escapes.js';

/** Bytes that no JSON text holds, so that a line is one value whatever is in it. */
const RAW = `(FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')`;

/**
 * Copies pages into a temporary table, a row each, parsed by the server once. What jsonb can't hold is mended, and such a page
 * has a field `exact`: its events as they came, as text.
 */
export async function stagePages(tx: PgTransaction, batch: readonly WindowPages[]): Promise<StagedPages> {
  // Pages are read and thrown away: to compress them would take longer than all the rest.
  await tx.query('CREATE TEMP TABLE event_pages (line jsonb) ON COMMIT DROP');
  await tx.query('ALTER TABLE event_pages ALTER COLUMN line SET STORAGE EXTERNAL');
  await tx.query('SAVEPOINT pages');
  try {
    await copy(tx, batch, mendForPostgres, hasHalvesOrNul);
  } catch (error) {
    // Numbers out of range: looked for only when they were met.
    if (codeOf(error) !== '22003') throw error;
    await tx.query('ROLLBACK TO SAVEPOINT pages');
    await copy(
      tx,
      batch,
      (text) => mendForPostgres(quoteHuge(text)),
      () => true,
    );
  }
  return {
    events: () => `SELECT CAST(line ->> 'part' AS integer) AS part, CAST(line ->> 'page' AS integer) AS page, l.n AS n,
        l.value ->> 'id' AS id, l.value ->> 'type' AS type, searchflow_time(l.value ->> 'createdAt') AS created_at,
        l.value -> 'data' AS data, nullif(l.value - '{id,object,type,data,createdAt}'::text[], '{}') AS extra,
        CASE WHEN line ? 'exact' THEN (SELECT x.value FROM json_array_elements(CAST(line ->> 'exact' AS json)) WITH ORDINALITY x(value, n)
          WHERE x.n = l.n AND x.value::text ~ '\\\\u0000|\\\\u[dD][89a-fA-F]|[eE][+-]?[0-9]{4}') END AS event_exact
      FROM event_pages CROSS JOIN LATERAL jsonb_array_elements(line -> 'events') WITH ORDINALITY l(value, n)`,
    remove: async () => undefined,
  };
}

async function copy(
  tx: PgTransaction,
  batch: readonly WindowPages[],
  mend: (text: string) => string,
  needsExact: (bytes: Buffer) => boolean,
): Promise<void> {
  const { from } = await import('pg-copy-streams');
  await pipeline(
    Readable.from(lines(batch, mend, needsExact)),
    tx.client.query(from(`COPY event_pages FROM STDIN ${RAW}`)),
  );
}

function* lines(
  batch: readonly WindowPages[],
  mend: (text: string) => string,
  needsExact: (bytes: Buffer) => boolean,
): Generator<Uint8Array | string> {
  for (const [part, { pages }] of batch.entries()) {
    for (const { page, events } of pages) {
      const bytes = Buffer.from(events.buffer, events.byteOffset, events.byteLength);
      yield `{"part":${part},"page":${page},`;
      if (needsExact(bytes)) {
        yield `"exact":${JSON.stringify(bytes.toString())},"events":${mend(bytes.toString().replaceAll('\n', ' '))}}\n`;
      } else {
        yield '"events":';
        yield inOneLine(bytes, needsExact, mend);
        yield '}\n';
      }
    }
  }
}

/** Numbers with an exponent of four digits or more as texts; texts that look like them stay. */
function quoteHuge(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?[eE][+-]?\d{4,}/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined;
}
