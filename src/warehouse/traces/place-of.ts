import type { PublishOutcome } from '../../core/publish/publish-request.js';
import type { LoadedRow, RowName, RowPlace } from '../../core/rows/loaded-row.js';
import type { Misfit } from '../../core/rows/on-misfit.js';
import type { RowTransaction } from '../rows/row-sql.js';
import { loadedColumns } from './failed-rows.js';

/** The most rows with the same unit that are named. */
const SHOWN = 20;

/** See `RowPlaces.placeOf`. */
export async function placeOf(tx: RowTransaction, job: string, name: RowName): Promise<RowPlace | null> {
  const loaded = await find(tx, job, name);
  if (loaded === null) return null;
  const misfits = await misfitsOf(tx, job, loaded);
  return {
    loaded,
    ledgerAt: await ledgerAt(tx, job, loaded),
    misfits,
    isQuarantined: misfits.length > 0 && (await isQuarantined(tx, job)),
    sharing: await sharing(tx, job, loaded),
    published: await published(tx, job),
  };
}

async function find(tx: RowTransaction, job: string, name: RowName): Promise<LoadedRow | null> {
  const first = async (
    condition: string,
    order: string,
    values: readonly (number | string | null | readonly string[])[],
  ) => {
    const [found] = await tx.rows<LoadedRow>(
      `SELECT ${loadedColumns(tx.dialect)} FROM row_store e WHERE e.job = $1 AND ${condition} ORDER BY ${order} LIMIT 1`,
      [job, ...values],
    );
    return found ?? null;
  };
  const present =
    'CASE WHEN e.vanished_at IS NULL THEN 0 ELSE 1 END, CASE WHEN e.outdated_at IS NULL THEN 0 ELSE 1 END';
  if ('unit' in name) {
    const [units, cell] = ['(SELECT unnest(CAST($2 AS text[])))', `e.input[${name.cell}]`];
    const isExact = `(e.url IN ${units} OR trim(${cell}) IN ${units})`;
    const order = `${present}, CASE WHEN ${isExact} THEN 0 ELSE 1 END, e.row_number, e.loaded_at DESC`;
    return first(`(${isExact} OR e.unit_key = $3)`, order, [name.unit, name.key]);
  }
  const { row, hash } = name;
  const numbered = await first('e.row_number = $2', present, [row]);
  if (hash === undefined || numbered?.hash === hash) return numbered;
  // The warehouse numbers the rows of another input. An equal row may have another number there.
  return first('e.row_hash = $2', `${present}, e.row_number`, [hash]);
}

async function ledgerAt(tx: RowTransaction, job: string, { slice }: LoadedRow): Promise<number | null> {
  const [line] = await tx.rows<{ at: number }>(
    `SELECT ${tx.dialect.millis('l.loaded_at')} AS at FROM load_ledger l JOIN searchflow_jobs j ON j.job = l.job AND j.generation = l.generation
     WHERE l.job = $1 AND l.slice = $2`,
    [job, slice],
  );
  return line?.at ?? null;
}

async function misfitsOf(tx: RowTransaction, job: string, { row }: LoadedRow): Promise<readonly Misfit[]> {
  if (row === null) return [];
  return tx.rows<Misfit>(
    'SELECT column_name AS "column", value, expected FROM misfits WHERE job = $1 AND row_number = $2 ORDER BY column_name',
    [job, row],
  );
}

async function isQuarantined({ rows }: RowTransaction, job: string): Promise<boolean> {
  const [found] = await rows<{ mode: string | null }>('SELECT on_misfit AS mode FROM searchflow_jobs WHERE job = $1', [
    job,
  ]);
  return found?.mode === 'quarantine';
}

async function sharing({ rows }: RowTransaction, job: string, { key, row }: LoadedRow): Promise<RowPlace['sharing']> {
  if (key === null) return { rows: 0, first: [] };
  const others = `FROM row_store WHERE job = $1 AND unit_key = $2 AND row_number <> $3 AND vanished_at IS NULL`;
  const values = [job, key, row ?? 0];
  const [count] = await rows<{ count: number }>(`SELECT CAST(count(*) AS double precision) AS count ${others}`, values);
  const first = await rows<{ row: number }>(
    `SELECT CAST(row_number AS double precision) AS row ${others} ORDER BY row_number LIMIT ${SHOWN}`,
    values,
  );
  return { rows: count?.count ?? 0, first: first.map((other) => other.row) };
}

async function published({ dialect, rows }: RowTransaction, job: string): Promise<RowPlace['published']> {
  const [run] = await rows<{ published: string; at: number }>(
    `SELECT CAST(published AS text) AS published, ${dialect.millis('ended_at')} AS at FROM searchflow_runs
     WHERE job = $1 AND published IS NOT NULL ORDER BY ended_at DESC LIMIT 1`,
    [job],
  );
  return run ? { ...(JSON.parse(run.published) as PublishOutcome), at: run.at } : null;
}
