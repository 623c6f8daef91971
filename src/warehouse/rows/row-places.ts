import type { PublishOutcome } from '../../core/publish-request.js';
import type { FailedGroup, LoadedRow, RowName, RowPlaces } from '../../core/rows/loaded-row.js';
import type { Misfit } from '../../core/rows/misfit.js';
import { discardedRow } from './row-marks.js';
import type { RowDatabase, RowDialect, RowTransaction } from './row-sql.js';

/** The most rows with the same unit that are named. */
const SHOWN = 20;

/** Columns of a row of `row_store` (alias `e`), as a {@link LoadedRow} has them. */
function loadedColumns({ millis }: RowDialect): string {
  const columns: Readonly<Record<keyof LoadedRow, string>> = {
    row: 'CAST(e.row_number AS double precision)',
    hash: 'e.row_hash',
    status: 'e.status',
    tag: 'e.error_tag',
    message: 'e.error_message',
    httpStatus: 'e.http_status',
    key: 'e.unit_key',
    unit: 'e.url',
    input: 'e.input',
    requestId: 'e.request_id',
    costMicros: 'CAST(e.cost_micros AS double precision)',
    fetchedAt: millis('e.fetched_at'),
    slice: 'e.slice',
    loadedAt: millis('e.loaded_at'),
    outdatedAt: millis('e.outdated_at'),
    vanishedAt: millis('e.vanished_at'),
  };
  return Object.entries(columns)
    .map(([name, value]) => `${value} AS "${name}"`)
    .join(', ');
}

/** Returns the reader of single rows of a database. All databases get the same statements. */
export function createRowPlaces({ exists, transaction }: Pick<RowDatabase, 'exists' | 'transaction'>): RowPlaces {
  return {
    /** The rows are those that the summary of the job counts as `error` and `invalid`, without discarded ones. */
    async failedRows(job, { tags, limit }) {
      if (!(await exists())) return { groups: [], rows: [] };
      const failed = `FROM row_store e WHERE e.job = $1 AND e.status <> 'success' AND e.row_number IS NOT NULL
        AND e.vanished_at IS NULL AND e.outdated_at IS NULL
        AND NOT ${discardedRow} AND (CAST($2 AS boolean) OR coalesce(e.error_tag, '') IN (SELECT unnest(CAST($3 AS text[]))))`;
      const values = [job, tags.length === 0, tags];
      return transaction('read', async ({ dialect, rows }) => ({
        groups: await rows<FailedGroup>(
          `SELECT e.status, e.error_tag AS tag, CAST(count(*) AS double precision) AS rows,
             CAST(count(DISTINCT e.unit_key) AS double precision) AS units,
             CAST(coalesce(sum(e.cost_micros), 0) AS double precision) AS "costMicros"
           ${failed} GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
          values,
        ),
        rows: await rows<LoadedRow>(
          `SELECT ${loadedColumns(dialect)} ${failed} ORDER BY e.row_number LIMIT ${limit}`,
          values,
        ),
      }));
    },

    async placeOf(job, name) {
      if (!(await exists())) return null;
      return transaction('read', async (tx) => {
        const { dialect, rows } = tx;
        const loaded = await findRow(tx, job, name);
        if (loaded === null) return null;
        const { row, slice, key } = loaded;
        const [facts] = await rows<{ ledgerAt: number | null }>(
          `SELECT ${dialect.millis('l.loaded_at')} AS "ledgerAt" FROM searchflow_jobs j
           LEFT JOIN load_ledger l ON l.job = j.job AND l.generation = j.generation AND l.slice = $2 WHERE j.job = $1`,
          [job, slice],
        );
        const misfits = await rows<Misfit>(
          'SELECT column_name AS "column", value, expected FROM misfits WHERE job = $1 AND row_number = $2 ORDER BY column_name',
          [job, row],
        );
        const others = await rows<{ row: number; rows: number }>(
          `SELECT CAST(row_number AS double precision) AS row, CAST(count(*) OVER () AS double precision) AS rows FROM row_store
           WHERE job = $1 AND unit_key = $2 AND row_number <> $3 AND vanished_at IS NULL ORDER BY row_number LIMIT ${SHOWN}`,
          [job, key, row ?? 0],
        );
        const [run] = await rows<{ published: string; at: number }>(
          `SELECT CAST(published AS text) AS published, ${dialect.millis('ended_at')} AS at FROM searchflow_runs
           WHERE job = $1 AND published IS NOT NULL ORDER BY ended_at DESC LIMIT 1`,
          [job],
        );
        return {
          loaded,
          ledgerAt: facts?.ledgerAt ?? null,
          misfits,
          sharing: { rows: others[0]?.rows ?? 0, first: others.map((other) => other.row) },
          published: run ? { ...(JSON.parse(run.published) as PublishOutcome), at: run.at } : null,
        };
      });
    },
  };
}

async function findRow({ dialect, rows }: RowTransaction, job: string, name: RowName): Promise<LoadedRow | null> {
  const first = async (condition: string, order: string, ...values: (number | string | null | readonly string[])[]) => {
    const [found] = await rows<LoadedRow>(
      `SELECT ${loadedColumns(dialect)} FROM row_store e WHERE e.job = $1 AND ${condition} ORDER BY ${order} LIMIT 1`,
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
    return first(`(${isExact} OR e.unit_key = $3)`, order, name.unit, name.key);
  }
  const { row, hash } = name;
  const numbered = await first('e.row_number = $2', present, row);
  if (hash === undefined || numbered?.hash === hash) return numbered;
  // The warehouse numbers the rows of another input. An equal row may have another number there.
  return first('e.row_hash = $2', `${present}, e.row_number`, hash);
}
