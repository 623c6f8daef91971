import type { PayloadKind } from '../../core/events/payloads.js';
import type { PartTable, StateSource, StateTable } from '../../core/events/state-table.js';
import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { Dialect, Transaction } from '../dialect.js';

/**
 * Bytes of loads that are folded at a time; the last load may exceed this size. With fewer bytes, most tables would get fewer rows than a
 * row group has, and DuckDB would write these rows twice.
 */
export const ENOUGH_TO_FOLD = 36 * 1_048_576;

const loadedFrom = (load: number) => `origin = $1 AND load_id >= ${load}`;

/**
 * Updates the current state with loads that are not in the state yet, the earliest first, in the caller's transaction. Takes loads up to
 * `ENOUGH_TO_FOLD` bytes. Takes no load if all waiting loads together have fewer bytes than `atLeast`. Returns whether loads are left.
 * `parts`: number of parts into which the events are divided, to save memory.
 */
export async function foldWaiting(
  tx: Transaction,
  origin: string,
  { atLeast, parts }: { readonly atLeast: number; readonly parts: number },
): Promise<boolean> {
  const waiting = await waitingLoads(tx, origin);
  if (waiting.length === 0 || sizeOf(waiting) < atLeast) return false;
  let bytes = 0;
  const taken = waiting.filter((one) => {
    const enough = bytes >= ENOUGH_TO_FOLD;
    bytes += one.bytes;
    return !enough;
  });
  const [first, last] = [taken[0]?.load as number, taken.at(-1)?.load as number];
  await fold(tx, { origin, which: `${loadedFrom(first)} AND load_id <= ${last}` }, parts);
  await mark(tx, origin, last);
  return last < (waiting.at(-1) as WaitingLoad).load;
}

/** Folds all waiting loads after a load that replaced contents. Before the fold, reverts the state that was made from the old contents. */
export async function foldReplaced(tx: Transaction, origin: string, parts: number): Promise<void> {
  await takeBack(tx, origin);
  const waiting = await waitingLoads(tx, origin);
  const [first, last] = [waiting[0]?.load as number, waiting.at(-1)?.load as number];
  await fold(tx, { origin, which: `(${loadedFrom(first)} OR ${refolded})` }, parts);
  await mark(tx, origin, last);
}

interface WaitingLoad {
  readonly load: number;
  readonly bytes: number;
}

const sizeOf = (loads: readonly WaitingLoad[]) => loads.reduce((sum, { bytes }) => sum + bytes, 0);

function waitingLoads(tx: Transaction, origin: string): Promise<readonly WaitingLoad[]> {
  return tx.rows(
    `SELECT CAST(load_id AS INTEGER) AS load, CAST(bytes AS INTEGER) AS bytes FROM event_loads
     WHERE origin = $1 AND in_state = 0 ORDER BY load_id`,
    [origin],
  );
}

async function fold(tx: Transaction, { origin, which: events }: Folded, parts: number): Promise<void> {
  // The order of parts does not matter: the newest version of each object is kept.
  for (let part = 0; part < parts; part++) {
    const which = parts === 1 ? events : `${events} AND abs(digest % ${parts}) = ${part}`;
    const kinds = await tx.rows<{ payload: PayloadKind }>(
      `SELECT DISTINCT payload FROM events WHERE ${which} AND payload IS NOT NULL`,
      [origin],
    );
    await updateStates(tx, { origin, which }, new Set(kinds.map(({ payload }) => payload)));
  }
}

async function mark(tx: Transaction, origin: string, last: number): Promise<void> {
  await tx.run(
    'UPDATE event_loads SET in_state = 1 WHERE origin = $1 AND in_state = 0 AND load_id <= CAST($2 AS BIGINT)',
    [origin, last],
  );
}

/** Condition on `events`: the events that {@link takeBack} selects to be folded again. `$1` is the origin. */
export const refolded = 'origin = $1 AND id IN (SELECT id FROM refolded)';

/**
 * Writes the objects whose contents are replaced into the temporary table `touched`. The table `winners` has the events with the new
 * contents.
 */
export async function touch(tx: Transaction, origin: string): Promise<void> {
  await tx.createTemp('touched', about, [origin]);
}

const about = 'SELECT webset_id, object_id FROM events WHERE origin = $1 AND id IN (SELECT id FROM winners)';

/**
 * Reverts the state made from the old contents, and writes the events to fold again into `refolded`. These events are all events of the
 * same websets and objects, because an old content may have been the newest version of an object. Call this function after the new contents
 * are inserted.
 */
export async function takeBack(tx: Transaction, origin: string): Promise<void> {
  await tx.run(`INSERT INTO touched ${about}`, [origin]);
  await tx.createTemp(
    'refolded',
    `SELECT id FROM events WHERE origin = $1
         AND (webset_id IN (SELECT webset_id FROM touched) OR object_id IN (SELECT object_id FROM touched))`,
    [origin],
  );
  for (const { name } of [...stateTables, ...partTables]) {
    await tx.run(`DELETE FROM ${name} WHERE origin = $1 AND event_id IN (SELECT id FROM winners)`, [origin]);
  }
}

interface Folded {
  readonly origin: string;
  /** Condition on `events`; `$1` in the condition is the origin. */
  readonly which: string;
}

const versionOf = (alias: string) => `(${alias}.version_at, ${alias}.event_at, ${alias}.list_order, ${alias}.event_id)`;

interface Change {
  readonly table: StateTable;
  readonly parts: readonly PartTable[];
  /** Sources of the table for which there are events. */
  readonly sources: readonly StateSource[];
  /**
   * Name of the temporary table with the newest versions from the events, each with the existing version of the same object.
   */
  readonly found: string;
}

/**
 * Updates all tables of current state with the events that have payloads of these kinds. The order and repetition of loads do not matter:
 * the newest version of an object is kept, and so is the object's deletion.
 */
async function updateStates(tx: Transaction, folded: Folded, kinds: ReadonlySet<PayloadKind>): Promise<void> {
  const laidOut: string[] = [];
  for (const payload of kinds) laidOut.push(...(await nest(tx, payload, folded)));
  const changes = stateTables.flatMap((table): Change | [] => {
    const sources = table.sources.filter(({ payload }) => kinds.has(payload));
    const parts = partTables.filter(({ of }) => of === table.name);
    return sources.length > 0 ? { table, parts, sources, found: `found_${table.name}` } : [];
  });
  for (const change of changes) {
    await find(tx, change, folded);
    laidOut.push(change.found);
  }
  const counts = changes.length > 0 ? await whatIsThere(tx, changes) : [];
  for (const change of changes) {
    const there = counts.find(({ name }) => name === change.table.name);
    await update(tx, change, folded, there as Counts);
  }
  if (laidOut.length > 0) await tx.run(laidOut.map((name) => `DROP TABLE ${name}`).join('; '));
}

const eventsWith = (payload: PayloadKind, which: string) => `events WHERE ${which} AND payload = '${payload}'`;

const eventAt = (dialect: Dialect) => `coalesce(created_at, ${dialect.moment('0')})`;

/**
 * Copies the members that hold other objects to a temporary table. Otherwise each of these members would need another parse of
 * the whole payload. Returns the name of the table in a list, or an empty list if there are no such members.
 */
async function nest(tx: Transaction, payload: PayloadKind, folded: Folded): Promise<readonly string[]> {
  const paths = stateTables.flatMap(({ sources }) => sources.filter((source) => source.payload === payload));
  const names = new Set(paths.flatMap(({ path }) => path[0] ?? []));
  if (names.size === 0) return [];
  const { origin, which } = folded;
  const events = `(SELECT id AS event_id, ${eventAt(tx.dialect)} AS event_at, list_order, data FROM ${eventsWith(payload, which)})`;
  const columns = `event_id, event_at, list_order, ${[...names].join(', ')}`;
  const name = `nested_${payload}`;
  const members = `SELECT ${columns} FROM (${tx.dialect.withMembers(events, [...names])}) m`;
  await tx.createTemp(name, members, [origin]);
  return [name];
}

/** Collects the newest version of each object from the events, with the existing version of the same object. */
async function find(tx: Transaction, { table, sources, found }: Change, { origin, which }: Folded): Promise<void> {
  const versions = tx.dialect.newest(
    `(${sources.map((one) => candidates(tx.dialect, one, which)).join('\nUNION ALL\n')})`,
  );
  await tx.createTemp(
    found,
    `WITH f AS MATERIALIZED (${versions}),
         t AS (SELECT id, version_at, event_at, list_order, event_id, deleted_at FROM ${table.name} WHERE origin = $1 AND id IN (SELECT id FROM f))
       SELECT f.id, f.o, f.version_at, f.event_at, f.list_order, f.event_id, f.deleted_at, t.id IS NOT NULL AS met,
         t.id IS NULL OR ${versionOf('f')} > ${versionOf('t')} AS newer, t.deleted_at AS was_deleted_at
       FROM f LEFT JOIN t ON t.id = f.id`,
    [origin],
  );
}

/**
 * Numbers of objects to change in a table. `replaced`: the events have a newer version. `late`: the events have an older version that
 * deletes the object. `deleted`: the events have a newer version that deletes the object and has no contents.
 */
type Counts = { readonly name: string } & Readonly<Record<'replaced' | 'late' | 'deleted', number>>;

/** One statement counts for all tables, because each statement waits for a thread. */
function whatIsThere(tx: Transaction, changes: readonly Change[]): Promise<readonly Counts[]> {
  const count = (which: string) => `CAST(count(CASE WHEN ${which} THEN 1 END) AS INTEGER)`;
  const queries = changes.map(
    ({
      table,
      found,
    }) => `SELECT '${table.name}' AS name, ${count('met AND newer')} AS replaced, ${count(deletedLate)} AS late,
       ${count('newer AND o IS NULL AND coalesce(deleted_at, was_deleted_at) IS NOT NULL')} AS deleted FROM ${found}`,
  );
  return tx.rows<Counts>(queries.join('\nUNION ALL\n'));
}

/** Replaces older versions of objects, with their parts, by newer versions, and marks deleted objects. */
async function update(tx: Transaction, change: Change, { origin, which }: Folded, there: Counts): Promise<void> {
  const { table, parts, sources, found } = change;
  const { name, columns } = table;
  if (there.late > 0) await markDeleted(tx, change, origin, deletedLate);
  if (there.replaced > 0) await removeOlder(tx, change, origin);
  /** Payload kinds whose whole data is the object of this table. */
  const whole = sources.filter(({ path }) => path.length === 0).map(({ payload }) => payload);
  const put = `(${[
    // Events are looked up by id, not joined, because a join may hold all data in memory.
    ...whole.map(
      (payload) =>
        `SELECT object_id AS id, data AS o, version_at, ${eventAt(tx.dialect)} AS event_at, list_order, id AS event_id,
           CAST(NULL AS ${tx.dialect.types.time}) AS deleted_at
         FROM ${eventsWith(payload, which)} AND id IN (SELECT event_id FROM ${found} WHERE newer AND o IS NULL)`,
    ),
    sources.length > whole.length &&
      `SELECT id, o, version_at, event_at, list_order, event_id, least(deleted_at, was_deleted_at) AS deleted_at
       FROM ${found} WHERE newer AND o IS NOT NULL`,
  ]
    .filter(Boolean)
    .join(' UNION ALL ')})`;
  const names = columns.map((column) => column.name).join(', ');
  await tx.runOnMany(
    `INSERT INTO ${name} (id, ${names}, data, deleted_at, version_at, event_at, list_order, event_id, origin)
     SELECT id, ${names}, o, deleted_at, version_at, event_at, list_order, event_id, $1 FROM (${tx.dialect.withFields(put, columns)}) w`,
    [origin],
  );
  if (there.deleted > 0) await markDeleted(tx, change, origin, 'newer AND o IS NULL');
  for (const part of parts) await putParts(tx, part, put, origin);
}

/** Query of all versions of objects in the events. `o` is NULL where the object is the whole data of the event. */
function candidates(dialect: Dialect, { payload, path, deletes = [] }: StateSource, which: string): string {
  const { types } = dialect;
  const [member, ...rest] = path;
  if (member === undefined) {
    const gone = deletes.length === 0 ? 'NULL' : `CASE WHEN type IN ('${deletes.join("', '")}') THEN event_at END`;
    return `SELECT object_id AS id, CAST(NULL AS ${types.parsed}) AS o, version_at, event_at, list_order, event_id,
        CAST(${gone} AS ${types.time}) AS deleted_at
      FROM (SELECT object_id, version_at, ${eventAt(dialect)} AS event_at, list_order, id AS event_id, type
        FROM ${eventsWith(payload, which)} AND object_id IS NOT NULL) c`;
  }
  const members = `(SELECT event_id, event_at, list_order, ${member} AS data FROM nested_${payload})`;
  return `SELECT id, o, coalesce(updated_at, event_at) AS version_at, event_at, list_order, event_id, CAST(NULL AS ${types.time}) AS deleted_at
    FROM (${dialect.withFields(`(${dialect.withObjects(members, rest)})`, versionFields)}) c WHERE id IS NOT NULL`;
}

const versionFields = [
  { name: 'id', path: ['id'], type: 'id' },
  { name: 'updated_at', path: ['updatedAt'], type: 'time' },
] as const;

/**
 * Condition: the version in the events is not newer than the existing version. But this version deletes the object, and the existing
 * version is not deleted or has a later time of deletion.
 */
const deletedLate =
  'met AND NOT newer AND deleted_at IS NOT NULL AND (was_deleted_at IS NULL OR deleted_at < was_deleted_at)';

/** Marks existing objects as deleted, at the times in the table `found`. */
async function markDeleted(
  tx: Transaction,
  { table: { name }, found }: Change,
  origin: string,
  which: string,
): Promise<void> {
  await tx.run(
    `UPDATE ${name} SET deleted_at = f.gone_at
     FROM (SELECT id, least(deleted_at, was_deleted_at) AS gone_at FROM ${found} WHERE ${which}) f
     WHERE ${name}.origin = $1 AND ${name}.id = f.id AND f.gone_at IS NOT NULL`,
    [origin],
  );
}

async function removeOlder(tx: Transaction, { table, parts, found }: Change, origin: string): Promise<void> {
  const replaced = `IN (SELECT id FROM ${found} WHERE met AND newer)`;
  await tx.run(`DELETE FROM ${table.name} WHERE origin = $1 AND id ${replaced}`, [origin]);
  for (const part of parts) {
    await tx.run(`DELETE FROM ${part.name} WHERE origin = $1 AND ${part.owner} ${replaced}`, [origin]);
  }
}

async function putParts(
  tx: Transaction,
  { name, owner, path, columns }: PartTable,
  put: string,
  origin: string,
): Promise<void> {
  const names = columns.map((column) => column.name).join(', ');
  const owners = `(SELECT id AS owner_id, o AS data, version_at, event_at, list_order, event_id FROM ${put} p)`;
  await tx.runOnMany(
    `INSERT INTO ${name} (${owner}, ${names}, data, version_at, event_at, list_order, event_id, origin)
     SELECT owner_id, ${names}, o, version_at, event_at, list_order, event_id, $1
     FROM (${tx.dialect.withFields(`(${tx.dialect.withObjects(owners, [path, '*'])})`, columns)}) w`,
    [origin],
  );
}
