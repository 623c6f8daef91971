import { randomUUID } from 'node:crypto';
import { type ColumnType, isJson, JSON_TYPE, TEXT } from '../core/rows/column-type.js';
import type { SinkBatch, SinkColumn } from '../core/rows/sink.js';
import { WarehouseUnusable } from '../core/rows/warehouse-errors.js';
import { some } from '../core/text/count.js';
import type { Json } from '../core/text/json.js';
import type { Database } from './database.js';
import type { Dialect, Transaction } from './dialect.js';
import { portionsOf } from './export/job-rows.js';
import { viewedRows, viewQuery } from './rows/job-view.js';
import type { ShownJob } from './rows/misfits.js';
import type { ResultColumn } from './rows/result-column.js';
import { type NumberedRows, numbersOf } from './rows/row-sql.js';
import { storedType } from './rows/row-tables.js';
import { identifier } from './shared/duckdb-quote.js';
import type { Relation } from './shared/relation.js';

/**
 * The ledger of the batches of a sink. A load writes its batch in the same transaction as its rows. `content` has copies of the rows, as JSON
 * objects with commas, so that a batch never changes; NULL: it is loaded.
 */
const ledger = ({ types }: Dialect) => `
  CREATE TABLE IF NOT EXISTS sink_batches (batch_id ${types.text} PRIMARY KEY, job ${types.text} NOT NULL, piece ${types.long} NOT NULL,
    table_name ${types.text} NOT NULL, columns ${types.text} NOT NULL, rows ${types.long} NOT NULL, landed_at ${types.time} NOT NULL,
    loaded_at ${types.time}, failures ${types.long} NOT NULL, content ${types.text})`;

/** The batches of a piece of work, of a job or of a table. */
export type BatchesOf = Pick<SinkBatch, 'table'> & { readonly job?: string; readonly piece?: number };

export interface SinkBatches {
  make(): Promise<void>;
  pending(of: BatchesOf): Promise<readonly string[]>;
  /** A batch; null if it is loaded. */
  read(batchId: string): Promise<SinkBatch | null>;
  /** Records that a batch is loaded, and drops its rows here. */
  loaded(batchId: string): Promise<void>;
  /** Records a failed load of a batch; returns how many there were. */
  failed(batchId: string): Promise<number>;
}

export function createSinkBatches(database: Database): SinkBatches {
  const write = <T>(work: (tx: Transaction) => Promise<T>) => database.transaction('write', work);
  let isMade = false;
  return {
    async make() {
      if (isMade) return;
      await database.make();
      await write(async (tx) => {
        await tx.lock('names');
        await tx.run(ledger(tx.dialect));
      });
      isMade = true;
    },

    async pending({ table, job, piece }) {
      const found = await database.transaction('read', (tx) =>
        tx.rows<{ id: string }>(
          `SELECT batch_id AS id FROM sink_batches WHERE loaded_at IS NULL AND table_name = $1
             AND job = coalesce($2, job) AND piece = coalesce(CAST($3 AS bigint), piece) ORDER BY landed_at, batch_id`,
          [table, job ?? null, piece ?? null],
        ),
      );
      return found.map(({ id }) => id);
    },

    read: (batchId) =>
      database.transaction('read', async (tx) => {
        const [found] = await tx.rows<Pick<SinkBatch, 'job' | 'table'> & Record<'columns' | 'content', string>>(
          'SELECT job, table_name AS "table", columns, content FROM sink_batches WHERE batch_id = $1 AND loaded_at IS NULL',
          [batchId],
        );
        if (found === undefined) return null;
        const { content, ...batch } = found;
        const columns = JSON.parse(batch.columns) as readonly SinkColumn[];
        const rows = JSON.parse(`[${content}]`) as Record<string, Json>[];
        for (const { name } of columns.filter(({ type }) => type === 'time'))
          for (const row of rows) if (typeof row[name] === 'string') row[name] = unifiedTime(row[name]);
        return { ...batch, batchId, columns, rows };
      }),

    loaded: (batchId) => {
      const done = `UPDATE sink_batches SET loaded_at = ${database.dialect.now()}, content = NULL WHERE batch_id = $1`;
      return write((tx) => tx.run(done, [batchId]));
    },

    failed: (batchId) =>
      write(async (tx) => {
        const counted = 'UPDATE sink_batches SET failures = failures + 1 WHERE batch_id = $1 RETURNING failures';
        const [batch] = await tx.rows<{ failures: unknown }>(counted, [batchId]);
        return Number(batch?.failures ?? 1);
      }),
  };
}

/** Writes a time in one form, because databases write times in different ways. */
function unifiedTime(text: string): string {
  const at = new Date(/Z$|[+-]\d\d(:?\d\d)?$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

/** Rows that a transaction has loaded: a query of them, and `place`, an expression of a number by which the rows are in order. */
type LandedRows = Pick<SinkBatch, 'job' | 'table' | 'columns'> &
  Record<'query' | 'place', string> & { readonly piece: number };

/** Whether the warehouse is the record of a sink. */
export async function hasLedger({ dialect, rows }: Transaction): Promise<boolean> {
  return (await rows(`SELECT 1 AS found FROM (${dialect.namesInUse}) t WHERE name = 'sink_batches'`)).length > 0;
}

/** Records rows as a batch, in the transaction that loads them. Without rows, there is none. */
async function keepBatch(tx: Transaction, landed: LandedRows): Promise<void> {
  const { job, table, columns, piece, query, place } = landed;
  // One text is read and parsed in half the time of many.
  await tx.run(
    `INSERT INTO sink_batches (batch_id, job, piece, table_name, columns, rows, landed_at, failures, content)
     SELECT '${randomUUID()}', CAST($1 AS text), ${piece}, '${table}', CAST($2 AS text), count(*), ${tx.dialect.moment('$3')}, 0,
       string_agg(content, ',' ORDER BY n)
     FROM (SELECT ${place} AS n, ${tx.dialect.asJson('v')} AS content FROM (${query}) v) s HAVING count(*) > 0`,
    [job, JSON.stringify(columns), Date.now()],
  );
}

/** Throws if a batch of a job waits for its sink: it may have come there, so its rows cannot be removed from it. */
export async function refuseWaiting(tx: Transaction, job: string): Promise<void> {
  if (!(await hasLedger(tx))) return;
  const counted = 'SELECT count(*) AS batches FROM sink_batches WHERE job = $1 AND loaded_at IS NULL';
  const [found] = await tx.rows<{ batches: unknown }>(counted, [job]);
  if (Number(found?.batches) === 0) return;
  throw new WarehouseUnusable(
    'sink-failed',
    `The sink has not loaded ${some(Number(found?.batches), 'batch', 'batches')} of ${job}. A batch never changes, so its rows cannot be forgotten. Start the job again with its worker: it loads the batches and buys nothing twice. Then run forget again`,
  );
}

/** Keeps rows of a job for the sink, with the columns of its view. `piece`: their slice; -1: any. Large rows have several batches. */
export async function keepRows(
  tx: Transaction,
  job: ShownJob & { readonly piece: number },
  found: NumberedRows,
): Promise<void> {
  if (!(await hasLedger(tx))) return;
  const { results } = job;
  const { first, last } = found;
  const where = `${viewedRows(job.job)} AND ${numbersOf(tx, found)}`;
  const firsts = await portionsOf(tx, where, first, last);
  const dialect: Dialect = { ...tx.dialect, cell: (index, type) => sinkCell(tx.dialect, index, type) };
  for (const [nth, from] of firsts.entries()) {
    const part = `${where} AND row_number BETWEEN ${from} AND ${(firsts[nth + 1] ?? last + 1) - 1}`;
    const { own, added, query } = viewQuery(dialect, part, job, results);
    const columns = [
      ...own.map((name, index) => ({ name, type: inputType(job.types?.[index]) })),
      ...added.map((name, index) => ({ name, type: resultType(results[index] as ResultColumn) })),
    ];
    // The last column is the number of the row.
    const place = identifier(added.at(-1) as string);
    await keepBatch(tx, { job: job.job, table: 'rows', columns, piece: job.piece, query, place });
  }
}

/** Types whose values are all the same in JSON and in JavaScript. */
const plainTypes = /^(BOOLEAN|U?TINYINT|U?SMALLINT|U?INTEGER|DECIMAL\((\d|1[0-5]),\d+\))$/;

/** Cells of other types are canonical texts, because databases write them in different ways, and JavaScript rounds long numbers. */
function sinkCell(dialect: Dialect, index: number, type: ColumnType = TEXT): string {
  const text = `input[${index + 1}]`;
  if (isJson(type)) return dialect.cell(index, JSON_TYPE);
  if (plainTypes.test(type)) return dialect.cell(index, type);
  if (type !== 'FLOAT' && type !== 'DOUBLE') return text;
  // JSON has no NaN and no infinity. Only their texts have an n.
  return `CASE WHEN ${text} LIKE '%n%' THEN to_json(${text}) ELSE CAST(${text} AS json) END`;
}

const inputType = (type: string | undefined): string => (type === undefined || type === TEXT ? 'text' : type);

function resultType({ from }: ResultColumn): string {
  if ('stored' in from) return recordTypes[storedType(from.stored) ?? 'text'] ?? 'text';
  if ('count' in from) return 'integer';
  const { type } = from;
  return type === 'string' || type === 'onlyText' ? 'text' : type === 'structure' ? 'json' : type;
}

/** Keeps rows of events or monitors for the sink. `where`: condition on the rows. */
export async function keepRecords(
  tx: Transaction,
  { name, columns }: Relation,
  { job, where }: Pick<LandedRows, 'job'> & { readonly where: string },
): Promise<void> {
  if (!(await hasLedger(tx))) return;
  const shown = columns.filter((column) => !internal.includes(column.name));
  await keepBatch(tx, {
    ...{ job, table: name as SinkBatch['table'], piece: 0, place: 'row_number() OVER ()' },
    columns: shown.map((column) => ({ name: column.name, type: recordTypes[column.type] ?? 'text' })),
    query: `SELECT ${shown.map((column) => column.name).join(', ')} FROM ${name} WHERE ${where}`,
  });
}

/** Columns that only the record needs. */
const internal: readonly string[] = [
  ...['digest', 'load_id', 'page', 'list_order', 'loaded_at', 'event_exact', 'is_over', 'is_reached'],
  ...['added_mark', 'loaded_mark'],
];

const recordTypes: Readonly<Partial<Record<string, string>>> = {
  ...{ time: 'time', json: 'json', parsed: 'json', boolean: 'boolean', number: 'number' },
  ...{ small: 'integer', integer: 'integer', long: 'integer' },
  // Dollars.
  other: 'number',
};
