import type { PublishOutcome } from '../../core/row-job-schemas.js';
import type {
  FailedGroup,
  FailedRows,
  LoadedRow,
  Misfit,
  RowName,
  RowPlace,
  RowState,
} from '../../core/rows/loaded-row.js';
import type { FiguresQuery, RecordedRun, RowFigures } from '../../core/rows/row-figures.js';
import type { FailedUnit, ForgetPick, ForgettableRow, RowReads } from '../../core/rows/row-warehouse.js';
import type { Database } from '../database.js';
import type { Dialect, Transaction } from '../dialect.js';
import { identifier } from '../shared/duckdb-quote.js';
import { knownCosts, misreadAnswers } from './answers.js';
import { viewNames } from './job-view.js';
import { readJob, transactionsOf } from './read-job.js';
import { summarize } from './row-loads.js';
import { failed, picked } from './row-marks.js';
import { currentRow, discardedRow, textsOf } from './row-sql.js';

type Job = Awaited<ReturnType<typeof readJob>>;

const SHOWN = 20;

/** Columns of a row of `row_store` (alias `e`), as a {@link LoadedRow} has them. */
function loadedColumns({ millis }: Dialect): string {
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
    at: millis('e.loaded_at'),
    outdatedAt: millis('e.outdated_at'),
    vanishedAt: millis('e.vanished_at'),
  };
  return Object.entries(columns)
    .map(([name, value]) => `${value} AS "${name}"`)
    .join(', ');
}

export function createRowReads(database: Database): RowReads {
  const { shown, patiently } = database;
  const { existing, ifPresent } = transactionsOf(database);
  return {
    known: async (keys, freshness) =>
      keys.length === 0 ? new Map() : ifPresent(new Map(), 'write', (tx) => knownCosts(tx, keys, freshness)),

    failedUnits: (job, pick) =>
      existing(job, 'write', async (tx) => {
        const [condition, value] = picked(pick);
        const found = await tx.rows<FailedUnit & { rows: unknown }>(
          `SELECT e.unit_key AS key, min(e.url) AS unit, e.error_tag AS tag, count(*) AS rows, min(e.slice) AS slice FROM row_store e
           WHERE ${failed} AND ${condition} GROUP BY e.unit_key, CASE WHEN e.unit_key IS NULL THEN e.url END, e.error_tag ORDER BY min(e.row_number)`,
          [job, value],
        );
        return found.map((unit) => ({ ...unit, rows: Number(unit.rows) }));
      }),

    rowStates: (job, numbers) =>
      existing(job, 'read', async (tx) => {
        const found = await tx.rows<RowState & { row: unknown }>(
          `SELECT e.row_number AS row, e.status, e.error_tag AS tag FROM row_store e
           WHERE ${currentRow} AND e.row_number = ANY(CAST(CAST($2 AS text[]) AS bigint[])) ORDER BY 1`,
          [job, numbers.map(String)],
        );
        return found.map((state) => ({ ...state, row: Number(state.row) }));
      }),

    misreadAnswers: (job) => existing(job, 'read', (tx) => misreadAnswers(tx, job)),
    forgettable: (pick) => ifPresent([], 'read', (tx) => forgettableRows(tx, pick)),

    /** The rows are those that the summary of the job counts as `error` and `invalid`, without discarded ones. */
    failedRows: (job, { tags, limit }) =>
      patiently(() => {
        const which = `FROM row_store e WHERE ${currentRow} AND e.status <> 'success' AND NOT ${discardedRow}
        AND (CAST($2 AS boolean) OR coalesce(e.error_tag, '') IN (${textsOf('$3')}))`;
        const values = [job, tags.length === 0, tags];
        return ifPresent<FailedRows>({ groups: [], rows: [] }, 'read', async ({ dialect, rows }) => ({
          groups: await rows<FailedGroup>(
            `SELECT e.status, e.error_tag AS tag, CAST(count(*) AS double precision) AS rows,
             CAST(count(DISTINCT e.unit_key) AS double precision) AS units,
             CAST(coalesce(sum(e.cost_micros), 0) AS double precision) AS "costMicros"
           ${which} GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
            values,
          ),
          rows: await rows<LoadedRow>(
            `SELECT ${loadedColumns(dialect)} ${which} ORDER BY e.row_number LIMIT ${limit}`,
            values,
          ),
        }));
      }),

    placeOf: (job, name) =>
      patiently(() =>
        ifPresent<RowPlace | null>(null, 'read', async (tx) => {
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
        }),
      ),
    figures: (query) =>
      existing(query.job, 'read', async (tx) => {
        const summary = await summarize(tx, query.job, shown);
        const job = await readJob(tx, query.job, shown);
        const [tags, loads] = [await tagCounts(tx, query), await loadSteps(tx, query)];
        return {
          summary,
          tags,
          loads,
          ...(await nullCounts(tx, job)),
          runs: await lastRuns(tx, query.mostRuns, query.job),
        };
      }),
    lastRuns: (most) => ifPresent([], 'read', (tx) => lastRuns(tx, most)),
  };
}

async function forgettableRows(tx: Transaction, pick: ForgetPick): Promise<readonly ForgettableRow[]> {
  const isText = 'text' in pick;
  const cells = 'array_to_string(e.input, chr(10))';
  // A cell with a URL may be the unit only in part, and the unit may be a whole request.
  const [condition, values] = isText
    ? [`strpos(lower(coalesce(e.url, '')), lower($1)) > 0 OR strpos(lower(${cells}), lower($1)) > 0`, [pick.text]]
    : ['e.job = $1', [pick.job]];
  const found = await tx.rows<Omit<ForgettableRow, 'cells'> & { readonly cells: string | null }>(
    `SELECT DISTINCT e.job, e.unit_key AS key, e.row_hash AS hash, ${isText ? 'e.url' : 'NULL'} AS unit, ${isText ? cells : 'NULL'} AS cells
     FROM row_store e WHERE ${condition}`,
    values,
  );
  return found.map(({ cells: text, ...row }) => ({ ...row, cells: text === null ? [] : text.split('\n') }));
}

async function findRow({ dialect, rows }: Transaction, job: string, name: RowName): Promise<LoadedRow | null> {
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
    const [units, cell] = [`(${textsOf('$2')})`, `e.input[${name.cell}]`];
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

/** Rows of the current input, with answers to the current options. */
const CURRENT = 'job = $1 AND vanished_at IS NULL AND outdated_at IS NULL';

const number = (expression: string, name: string): string => `CAST(${expression} AS double precision) AS "${name}"`;

const tagCounts = ({ rows }: Transaction, { job }: FiguresQuery) =>
  rows<RowFigures['tags'][number]>(
    `SELECT status, error_tag AS tag, ${number('count(*)', 'rows')} FROM row_store WHERE ${CURRENT}
     GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
    [job],
  );

function loadSteps({ rows, dialect }: Transaction, { job, since, stepMs }: FiguresQuery) {
  const step = 'CAST($3 AS double precision)';
  const at = `floor(greatest(${dialect.millis('loaded_at')}, CAST($2 AS double precision)) / ${step}) * ${step}`;
  return rows<RowFigures['loads'][number]>(
    `SELECT ${number(at, 'at')}, ${number('count(*)', 'rows')}, ${number("count(*) FILTER (WHERE status <> 'success')", 'failed')}
     FROM row_store WHERE ${CURRENT} GROUP BY 1 ORDER BY 1`,
    [job, since, stepMs],
  );
}

/** Columns in one statement: each column reads the answers of all rows. */
const COLUMNS_AT_ONCE = 50;
const MOST_COLUMNS = 200;

/** Own columns of texts are counted, too: forgotten rows have NULL there. */
async function nullCounts({ rows, dialect }: Transaction, job: Job): Promise<Pick<RowFigures, 'viewRows' | 'nulls'>> {
  const names = viewNames(dialect, job.columns, job.results);
  const { from, shown } = dialect.read(`${dialect.prefix}enriched_rows`, job.results, job.where);
  const own = names.own.map((name, index) => [name, dialect.cell(index, job.types?.[index])] as const);
  const results = names.results.map((name, index) => [name, shown[index] as string] as const);
  const all = [...results, ...own].slice(0, MOST_COLUMNS);
  const nulls: RowFigures['nulls'][number][] = [];
  let viewRows = 0;
  for (let first = 0; first < all.length; first += COLUMNS_AT_ONCE) {
    const some = all.slice(first, first + COLUMNS_AT_ONCE);
    const counts = some.map(([, value], index) => `count(${value}) AS ${identifier(`c${index}`)}`);
    const [found = {}] = await rows<Record<string, unknown>>(`SELECT count(*) AS n, ${counts.join(', ')} FROM ${from}`);
    viewRows = Number(found.n);
    nulls.push(...some.map(([column], index) => ({ column, nulls: viewRows - Number(found[`c${index}`]) })));
  }
  return { viewRows, nulls };
}

const runCounts = ['rows', 'success', 'error', 'invalid', 'missing', 'vanished', 'requests'].map((one) =>
  number(one, one),
);

/** The newest recorded runs, of one job or of all jobs. */
const lastRuns = ({ rows, dialect }: Transaction, most: number, job?: string) =>
  rows<RecordedRun>(
    `SELECT job, run, coalesce(scheduled, false) AS scheduled, phase, reason, message, ${runCounts.join(', ')},
       ${number('cost_micros', 'costMicros')}, ${dialect.millis('started_at')} AS "startedAt", ${dialect.millis('ended_at')} AS "endedAt"
     FROM searchflow_runs ${job === undefined ? '' : 'WHERE job = $1'} ORDER BY ended_at DESC, run LIMIT ${Number(most)}`,
    job === undefined ? [] : [job],
  );
