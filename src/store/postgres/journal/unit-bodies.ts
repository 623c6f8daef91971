import { BodiesGone } from '../../../core/purchase/journal.js';
import { writePieces } from '../../../files/write-durably.js';
import { identifier, type Postgres } from '../../../postgres/index.js';

/** Size of a batch of bodies in memory; a larger body is a batch of its own. */
const BATCH_BYTES = 4 * 1024 * 1024;

/**
 * Calls `each` with the bodies of landed units (one line of JSON each), in batches of a few MB. `unknown` decides whether unknown keys are
 * skipped or refused.
 */
export async function eachBody(
  postgres: Postgres,
  keys: readonly string[],
  unknown: 'skip' | 'refuse',
  each: (body: string) => Promise<void> | void,
): Promise<void> {
  const units = `${identifier(postgres.address.schema)}.units`;
  const wanted = [...new Set(keys)];
  const sizes = await postgres.query<{ key: string; bytes: number | null }>(
    `SELECT replace(key::text, '-', '') AS key, octet_length(body) AS bytes FROM ${units} WHERE key = ANY ($1) ORDER BY landed_at, key`,
    [wanted],
  );
  if (unknown === 'refuse' && sizes.length < wanted.length) {
    const known = new Set(sizes.map(({ key }) => key));
    throw new Error(`unit ${wanted.find((key) => !known.has(key))} has not landed`);
  }
  const gone = sizes.filter(({ bytes }) => bytes === null).map(({ key }) => key);
  if (gone.length > 0) throw new BodiesGone(gone);
  let batch: string[] = [];
  let bytes = 0;
  const flush = async () => {
    const rows = await postgres.query<{ key: string; body: string | null }>(
      `SELECT replace(key::text, '-', '') AS key, body FROM ${units} WHERE key = ANY ($1)`,
      [batch],
    );
    for (const { key, body } of rows) {
      // The body was pruned between the two queries.
      if (body === null) throw new BodiesGone([key]);
      await each(body);
    }
    batch = [];
    bytes = 0;
  };
  for (const size of sizes) {
    if (bytes + (size.bytes ?? 0) > BATCH_BYTES && batch.length > 0) await flush();
    batch.push(size.key);
    bytes += size.bytes ?? 0;
  }
  if (batch.length > 0) await flush();
}

/** Writes the bodies of these units to a file of JSON lines (mode 0600), replacing an existing file. */
export async function writeBodies(postgres: Postgres, keys: readonly string[], path: string): Promise<void> {
  await writePieces(path, (write) => eachBody(postgres, keys, 'refuse', (body) => write(`${body}\n`)));
}
