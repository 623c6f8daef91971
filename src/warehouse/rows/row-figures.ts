import type {
  FiguresQuery,
  LoadStep,
  NullCount,
  RecordedRun,
  RowFigures,
  TagCount,
} from '../../core/rows/row-figures.js';
import type { RowWarehouse, WarehouseSummary } from '../../core/rows/row-warehouse.js';
import { identifier } from '../shared/duckdb-quote.js';
import { viewNames } from './misfits.js';
import type { RowDatabase, RowTransaction } from './row-sql.js';
import { readJob, summarize, unknownJob } from './row-store.js';

type Job = Awaited<ReturnType<typeof readJob>>;

/** Rows of the current input, with answers to the current options. */
const CURRENT = 'job = $1 AND vanished_at IS NULL AND outdated_at IS NULL';

/** Returns `RowWarehouse.figures` and `RowWarehouse.lastRuns`. All databases get the same statements. */
export function createFigures({
  shown,
  exists,
  transaction,
}: Pick<RowDatabase, 'shown' | 'exists' | 'transaction'>): Pick<RowWarehouse, 'figures' | 'lastRuns'> {
  return {
    async figures(query) {
      if (!(await exists())) throw unknownJob(query.job, shown);
      return transaction('read', async (tx) => {
        const summary = await summarize(tx, query.job, shown);
        return rowFigures(tx, query, await readJob(tx, query.job, shown), summary);
      });
    },
    lastRuns: async (most) => ((await exists()) ? transaction('read', (tx) => lastRuns(tx, most)) : []),
  };
}

async function rowFigures(
  tx: RowTransaction,
  query: FiguresQuery,
  job: Job,
  summary: WarehouseSummary,
): Promise<RowFigures> {
  return {
    summary,
    tags: await tagCounts(tx, query),
    loads: await loadSteps(tx, query),
    ...(await nullCounts(tx, job)),
    runs: await lastRuns(tx, query.mostRuns, query.job),
  };
}

const number = (expression: string, name: string): string => `CAST(${expression} AS double precision) AS "${name}"`;

const tagCounts = ({ rows }: RowTransaction, { job }: FiguresQuery) =>
  rows<TagCount>(
    `SELECT status, error_tag AS tag, ${number('count(*)', 'rows')} FROM row_store WHERE ${CURRENT}
     GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
    [job],
  );

function loadSteps({ rows, dialect }: RowTransaction, { job, since, stepMs }: FiguresQuery) {
  const step = 'CAST($3 AS double precision)';
  const at = `floor(greatest(${dialect.millis('loaded_at')}, CAST($2 AS double precision)) / ${step}) * ${step}`;
  return rows<LoadStep>(
    `SELECT ${number(at, 'at')}, ${number('count(*)', 'rows')}, ${number("count(*) FILTER (WHERE status <> 'success')", 'failed')}
     FROM row_store WHERE ${CURRENT} GROUP BY 1 ORDER BY 1`,
    [job, since, stepMs],
  );
}

/** Columns in one statement: each column reads the answers of all rows. */
const COLUMNS_AT_ONCE = 50;
const MOST_COLUMNS = 200;

/** Own columns of texts are counted, too: forgotten rows have NULL there. */
async function nullCounts(
  { rows, dialect }: RowTransaction,
  job: Job,
): Promise<Pick<RowFigures, 'viewRows' | 'nulls'>> {
  const { view } = dialect;
  const names = viewNames(view, job.columns, job.results);
  const { from, shown } = view.read(job.results, job.where);
  const own = names.own.map((name, index) => [name, view.input(index, job.types?.[index])] as const);
  const results = names.results.map((name, index) => [name, shown[index] as string] as const);
  const all = [...results, ...own].slice(0, MOST_COLUMNS);
  const nulls: NullCount[] = [];
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
const lastRuns = ({ rows, dialect }: RowTransaction, most: number, job?: string) =>
  rows<RecordedRun>(
    `SELECT job, run, coalesce(scheduled, false) AS scheduled, phase, reason, message, ${runCounts.join(', ')},
       ${number('cost_micros', 'costMicros')}, ${dialect.millis('started_at')} AS "startedAt", ${dialect.millis('ended_at')} AS "endedAt"
     FROM searchflow_runs ${job === undefined ? '' : 'WHERE job = $1'} ORDER BY ended_at DESC, run LIMIT ${Number(most)}`,
    job === undefined ? [] : [job],
  );
