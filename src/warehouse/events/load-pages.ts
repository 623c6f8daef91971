import {
  type LoadedPages,
  MisshapenPage,
  type StreamKey,
  type WindowPages,
} from '../../core/events/event-warehouse.js';
import { payloads } from '../../core/events/payloads.js';
import { verifies } from '../../core/events/walk-job.js';
import type { Differences, Verification } from '../../core/workflow-result-schemas.js';
import type { Dialect, SqlValue, StagedEvents, Transaction } from '../dialect.js';
import { touch } from './fold-state.js';

export interface PartResult extends Omit<LoadedPages, 'current'> {
  readonly newest: number | null;
}

/**
 * The load must be rolled back and run again with `careful`: more than a few events exist already, an event is twice on a
 * window's pages, or contents differ.
 */
class NotAllNew extends Error {
  override readonly name = 'NotAllNew';
}

/** A load in progress: pages of one origin, and one number of a load line for each part, ascending. */
export interface Load {
  readonly batch: readonly WindowPages[];
  readonly loads: readonly number[];
  readonly staged: StagedEvents;
  /** Whether some of the events may exist already. If none may exist, the events are read once instead of twice. */
  readonly careful: boolean;
}

/** Loads the events of staged pages in the caller's transaction. Fails if more checks are needed. */
export function loadPages(tx: Transaction, load: Load): Promise<PartResult[]> {
  const origin = load.batch[0]?.origin as string;
  const key = [origin, load.loads[0] as number] as const;
  return load.careful ? insertNew(tx, load, origin) : insertAll(tx, load, key);
}

const loaded = 'origin = $1 AND load_id >= CAST($2 AS BIGINT)';
const integer = (count: string) => `CAST(${count} AS INTEGER)`;

/** Inserts all events as new, then checks that all of the events were new. */
async function insertAll(tx: Transaction, load: Load, key: readonly [string, number]): Promise<PartResult[]> {
  await insert(tx, load, key[0]);
  const counts = await tx.rows<Counts & { load: number; again: number }>(
    `SELECT ${integer('load_id')} AS load, ${countsOf(tx.dialect, 'count(*)', 'list_order')},
       ${integer(`(SELECT count(*) - count(DISTINCT id) FROM events WHERE ${loaded}) + (
         SELECT count(*) FROM (SELECT 1 FROM events WHERE origin = $1 AND load_id < CAST($2 AS BIGINT)
           AND id IN (SELECT id FROM events WHERE ${loaded}) LIMIT 1) k)`)} AS again
     FROM events WHERE ${loaded} GROUP BY load_id`,
    key,
  );
  if (counts.some((one) => one.broken > 0)) throw broken();
  const reversed = counts.filter((one) => one.reversed === 1).map((one) => one.load);
  const turned = `UPDATE events SET list_order = -list_order WHERE origin = $1 AND load_id IN (${reversed.join(', ')})`;
  if (reversed.length > 0) await tx.run(turned, [key[0]]);
  const again = counts[0]?.again ? await takeOutAgain(tx, key) : [];
  return load.loads.map((line) => {
    const { events = 0, newest = null } = counts.find((one) => one.load === line) ?? {};
    return { events, added: events - again.filter((one) => one === line).length, changed: 0, newest };
  });
}

/**
 * Maximum number of existing events for which a load does not run again. Events at the border of two windows are read twice.
 */
const FEW_AGAIN = 100;

/** Deletes the inserted events that already existed with the same contents. Returns the load line of each deleted event. */
async function takeOutAgain(tx: Transaction, key: readonly [string, number]): Promise<readonly number[]> {
  await tx.createTemp(
    'again',
    `SELECT id, min(load_id) AS first, count(*) - 1 AS more, count(DISTINCT digest) AS contents,
         count(*) - count(DISTINCT load_id) AS within
       FROM events WHERE origin = $1 AND id IN (SELECT id FROM events WHERE ${loaded}) GROUP BY id HAVING count(*) > 1`,
    key,
  );
  const [sum] = await tx.rows<{ rows: number; hard: number }>(
    `SELECT ${integer('sum(more)')} AS "rows", ${integer('count(CASE WHEN contents > 1 OR within > 0 THEN 1 END)')} AS hard FROM again`,
  );
  if (!sum || sum.hard > 0 || sum.rows > FEW_AGAIN) throw new NotAllNew();
  const out = await tx.rows<{ load: number }>(
    `DELETE FROM events USING again WHERE events.origin = $1 AND events.load_id >= CAST($2 AS BIGINT)
       AND events.id = again.id AND events.load_id > again.first RETURNING ${integer('events.load_id')} AS load`,
    key,
  );
  await tx.run('DROP TABLE again');
  return out.map(({ load }) => load);
}

/** Reads ids first, then inserts the new events. */
async function insertNew(tx: Transaction, load: Load, origin: string): Promise<PartResult[]> {
  const { staged } = load;
  await tx.createTemp(
    'came',
    `SELECT part, page, n, id, type, created_at, ${tx.dialect.digest('data')} AS digest FROM (${staged(false)}) e`,
  );
  const counts = await tx.rows<Counts & { part: number }>(
    `SELECT part, ${countsOf(tx.dialect, 'count(DISTINCT id)', 'CAST(page AS BIGINT) * 65536 + n')} FROM came GROUP BY part`,
  );
  if (counts.some((one) => one.broken > 0)) throw broken();
  const verifying = load.batch.flatMap((one, part) => (verifies(one) ? [part] : []));
  const chosen = await chooseNew(tx, staged, origin, verifying);
  await noteChecks(tx, load.batch, verifying);
  const only = 'JOIN chosen c ON c.part = e.part AND c.page = e.page AND c.n = e.n';
  const reversed = counts.filter((one) => one.reversed === 1).map((one) => one.part);
  await insert(tx, load, origin, { only, reversed });
  // A replaced event keeps its place among the events of the same time.
  const kept = `UPDATE events SET list_order = k.list_order FROM known k
    WHERE events.origin = $1 AND events.id = k.id AND k.id IN (SELECT id FROM winners)`;
  if ([...chosen.values()].some(({ changed }) => changed > 0)) await tx.run(kept, [origin]);
  return load.loads.map((_, part) => {
    const { events = 0, newest = null } = counts.find((one) => one.part === part) ?? {};
    const { added, changed } = chosen.get(part) ?? { added: 0, changed: 0 };
    return { events, added, changed, newest };
  });
}

type Counts = Record<'events' | 'broken' | 'reversed', number> & { readonly newest: number | null };

/** Columns of `Counts`. `reversed`: the list has the newest events first. `order`: the order of the list. */
const countsOf = (dialect: Dialect, events: string, order: string) =>
  `${integer(events)} AS events, ${dialect.millis('max(created_at)')} AS newest,
   ${integer('count(*) - count(id)')} AS broken,
   CASE WHEN max(created_at) > min(created_at) AND covar_pop(${dialect.millis('created_at')}, ${order}) < 0 THEN 1 ELSE 0 END AS reversed`;

function broken(): MisshapenPage {
  return new MisshapenPage('a page of events has an entry without an id');
}

const kinds = payloads.flatMap(({ kind, types }) =>
  types.length === 0 ? [] : `WHEN type IN ('${types.join("', '")}') THEN '${kind}'`,
);
const objects = payloads.map(({ kind, object }) => `WHEN object = '${object}' THEN '${kind}'`);
/** The kind of the payload: by the event type if the type is known, otherwise by the name in the payload. */
const payloadOf = `CASE ${[...kinds, ...objects].join(' ')} END`;

async function insert(
  tx: Transaction,
  { batch, staged, loads }: Load,
  origin: string,
  { only = '', reversed = [] }: { readonly only?: string; readonly reversed?: readonly number[] } = {},
): Promise<void> {
  const more = tx.dialect.keepsExact ? 'event_exact, ' : '';
  const source = tx.dialect.withFields(`(SELECT e.*, e.data AS o FROM (${staged(true)}) e ${only})`, [
    { name: 'object', path: ['object'], type: 'text' },
    { name: 'object_id', path: ['id'], type: 'id' },
    { name: 'webset', path: ['websetId'], type: 'id' },
    { name: 'updated_at', path: ['updatedAt'], type: 'time' },
  ]);
  const loadOf = `CASE part ${loads.map((load, part) => `WHEN ${part} THEN ${load}`).join(' ')} END`;
  const windows = await tx.rows<Pick<WindowPages, 'stream' | 'window'> & { first: number }>(
    `SELECT stream, CAST(window_number AS INTEGER) AS "window", CAST(min(load_id) AS INTEGER) AS first FROM event_loads
     WHERE origin = $1 AND window_number IN (${batch.map(({ window }) => window).join(', ')}) GROUP BY stream, window_number`,
    [origin],
  );
  // Pages of one window have one order, whichever is loaded first. Of events with equal times in several windows, those of the window that was
  // loaded first come first in the list.
  const orders = batch.map(({ stream, window }, part) => {
    const isOne = (one: Pick<WindowPages, 'stream' | 'window'>) => one.stream === stream && one.window === window;
    const first = windows.find(isOne)?.first ?? loads[batch.findIndex(isOne)];
    const order = `CAST(${first} AS BIGINT) * 68719476736 + page * 65536 + n`;
    return `WHEN ${part} THEN ${reversed.includes(part) ? `-(${order})` : order}`;
  });
  await tx.run(
    `INSERT INTO events (id, type, created_at, payload, object_id, webset_id, item_id, version_at, data, extra, ${more}digest,
       origin, load_id, page, list_order, loaded_at)
     SELECT id, type, created_at, payload, object_id, CASE WHEN payload = 'webset' THEN object_id ELSE webset END,
       CASE WHEN payload = 'item' THEN object_id END, coalesce(updated_at, created_at, ${tx.dialect.moment('0')}), data, extra,
       ${more}${tx.dialect.digest('data')}, $1, ${loadOf}, page, CASE part ${orders.join(' ')} END, ${tx.dialect.moment('$2')}
     FROM (SELECT *, ${payloadOf} AS payload FROM (${source}) f) p`,
    [origin, Date.now()],
  );
}

/** Maximum number of days in a summary, because a summary is stored in Temporal's history. The table has all days. */
const MOST_DAYS = 366;

/**
 * Records the findings of a verification for a batch. The temporary table `came` has the events of the batch; `chosen` has the events that
 * are inserted.
 */
async function noteChecks(tx: Transaction, batch: readonly WindowPages[], verifying: readonly number[]): Promise<void> {
  const streams = new Set(verifying.map((part) => batch[part]?.stream as string));
  for (const stream of streams) {
    const parts = verifying.filter((part) => batch[part]?.stream === stream);
    // The first finding is kept, because on a page that is read again every event is already loaded.
    await tx.run(
      `INSERT INTO event_checks (origin, stream, id, outcome)
       SELECT $1, $2, c.id, min(CASE WHEN h.changed = 0 THEN 'missing' WHEN h.changed = 1 THEN 'changed' ELSE 'same' END)
       FROM came c LEFT JOIN chosen h ON h.part = c.part AND h.page = c.page AND h.n = c.n
       WHERE c.part IN (${parts.join(', ')})
         AND NOT EXISTS (SELECT 1 FROM event_checks k WHERE k.origin = $1 AND k.stream = $2 AND k.id = c.id)
       GROUP BY c.id`,
      [batch[0]?.origin as string, stream],
    );
  }
}

const ofStream = 'origin = $1 AND stream = $2';

/**
 * Records the events that the service no longer returns as `gone`, deletes the findings `same`, and counts the other findings. Only events
 * that were loaded before the verification began can be gone: a later event may have appeared where the cursor had already passed.
 */
export async function sumUpChecks(tx: Transaction, { origin, stream }: StreamKey): Promise<Verification> {
  const [run] = await tx.rows<{ types: string; summed: number }>(
    `SELECT types, CASE WHEN checked_at IS NULL THEN 0 ELSE 1 END AS summed FROM event_streams WHERE ${ofStream}`,
    [origin, stream],
  );
  if (run && !run.summed) {
    const types = JSON.parse(run.types) as readonly string[];
    const only = types.length === 0 ? '' : `AND e.type IN (${types.map((_, index) => `$${index + 3}`).join(', ')})`;
    await tx.run(
      `INSERT INTO event_checks (origin, stream, id, outcome)
       SELECT e.origin, s.stream, e.id, 'gone' FROM events e JOIN event_streams s ON s.origin = e.origin
       WHERE s.origin = $1 AND s.stream = $2 AND (s.run_from IS NULL OR e.created_at >= s.run_from)
         AND e.created_at <= s.run_to AND e.loaded_at < s.began_at ${only}
         AND NOT EXISTS (SELECT 1 FROM event_checks k WHERE k.origin = s.origin AND k.stream = s.stream AND k.id = e.id)`,
      [origin, stream, ...types],
    );
    await tx.run(`DELETE FROM event_checks WHERE ${ofStream} AND outcome = 'same'`, [origin, stream]);
    await tx.run(`UPDATE event_streams SET checked_at = ${tx.dialect.moment('$3')} WHERE ${ofStream}`, [
      origin,
      stream,
      Date.now(),
    ]);
  }
  return counted(tx, [origin, stream]);
}

async function counted(tx: Transaction, key: readonly SqlValue[]): Promise<Verification> {
  const count = (outcome: keyof Differences) =>
    `CAST(count(CASE WHEN c.outcome = '${outcome}' THEN 1 END) AS INTEGER) AS ${outcome}`;
  const counts = [count('missing'), count('changed'), count('gone')].join(', ');
  const from =
    'FROM event_checks c JOIN events e ON e.origin = c.origin AND e.id = c.id WHERE c.origin = $1 AND c.stream = $2';
  const [all] = await tx.rows<Differences>(`SELECT ${counts} ${from}`, key);
  const days = await tx.rows<Differences & { day: string }>(
    `SELECT CAST(${tx.dialect.day('e.created_at')} AS ${tx.dialect.types.text}) AS day, ${counts} ${from}
     AND e.created_at IS NOT NULL GROUP BY 1 ORDER BY 1 LIMIT ${MOST_DAYS}`,
    key,
  );
  return { missing: 0, changed: 0, gone: 0, ...all, days };
}

/** Numbers of events to insert in a part. `added`: new events; `changed`: events that replace older contents. */
type ChosenCount = Readonly<Record<'added' | 'changed', number>>;

/**
 * Finds the new events among the staged events, and writes the positions of the new events (part, page, n) into `chosen`. The temporary
 * table `came` has the ids and digests of all staged events. An event that exists with the same contents is left out. If the contents
 * differ, the newer version is kept, and an older row is deleted. Versions are compared by updatedAt, then createdAt, then digest, so that
 * the order of loads does not matter. `verifying`: parts that a verification has just read. Contents from these parts always win, and
 * stored contents are hashed again before the comparison.
 */
async function chooseNew(
  tx: Transaction,
  staged: StagedEvents,
  origin: string,
  verifying: readonly number[] = [],
): Promise<ReadonlyMap<number, ChosenCount>> {
  const digest = verifying.length > 0 ? tx.dialect.digest('data') : 'digest';
  await tx.createTemp(
    'known',
    `SELECT id, ${digest} AS digest, list_order FROM events WHERE origin = $1 AND id IN (SELECT id FROM came)`,
    [origin],
  );
  await tx.createTemp(
    'disputed',
    `SELECT id FROM (SELECT id, digest FROM came UNION ALL SELECT id, digest FROM known) b
       GROUP BY id HAVING count(DISTINCT digest) > 1`,
  );
  await tx.createTemp(
    'chosen',
    `SELECT part, page, n, 0 AS changed FROM (
         SELECT part, page, n, row_number() OVER (PARTITION BY id ORDER BY part, page, n) AS turn FROM came
         WHERE id NOT IN (SELECT id FROM known) AND id NOT IN (SELECT id FROM disputed)) c
       WHERE turn = 1`,
  );
  const disputes = await tx.rows('SELECT 1 AS found FROM disputed LIMIT 1');
  if (disputes.length > 0) await chooseVersions(tx, staged, origin, verifying);
  const counts = await tx.rows<{ part: number } & ChosenCount>(
    `SELECT part, CAST(sum(1 - changed) AS INTEGER) AS added, CAST(sum(changed) AS INTEGER) AS changed FROM chosen GROUP BY part`,
  );
  return new Map(counts.map(({ part, added, changed }) => [part, { added, changed }]));
}

/** Chooses one version of each event that has different contents under the same id. */
async function chooseVersions(
  tx: Transaction,
  staged: StagedEvents,
  origin: string,
  verifying: readonly number[],
): Promise<void> {
  const right = verifying.length > 0 ? `CASE WHEN part IN (${verifying.join(', ')}) THEN 0 ELSE 1 END,` : '';
  const rivals = `SELECT e.id, e.part, e.page, e.n, e.created_at, c.digest, e.data AS o
      FROM (${staged(false)}) e JOIN came c ON c.part = e.part AND c.page = e.page AND c.n = e.n
      WHERE c.id IN (SELECT id FROM disputed)
    UNION ALL SELECT id, NULL, NULL, NULL, created_at, digest, data FROM events
      WHERE origin = $1 AND id IN (SELECT id FROM disputed)`;
  const ranked = `SELECT id, part, page, n, row_number() OVER (PARTITION BY id
      ORDER BY ${right} coalesce(updated_at, created_at) DESC NULLS LAST, created_at DESC NULLS LAST, digest DESC,
        part NULLS FIRST, page, n) AS turn
    FROM (${tx.dialect.withFields(`(${rivals})`, [{ name: 'updated_at', path: ['updatedAt'], type: 'time' }])}) r`;
  await tx.createTemp('winners', `SELECT id, part, page, n FROM (${ranked}) w WHERE turn = 1 AND part IS NOT NULL`, [
    origin,
  ]);
  await tx.run(
    `INSERT INTO chosen SELECT part, page, n, CASE WHEN id IN (SELECT id FROM known) THEN 1 ELSE 0 END FROM winners`,
  );
  await touch(tx, origin);
  await tx.run('DELETE FROM events WHERE origin = $1 AND id IN (SELECT id FROM winners)', [origin]);
}
