import { randomUUID } from 'node:crypto';
import { TEXT } from '../core/rows/column-type.js';
import type { SinkBatch, SinkColumn } from '../core/rows/sink.js';
import type { Json } from '../core/text/json.js';
import type { Database } from './database.js';
import type { Dialect, SqlValue, Transaction } from './dialect.js';
import { portionsOf } from './export/job-rows.js';
import { type InputColumns, jobColumns } from './rows/job-columns.js';
import { viewedRows, viewQuery } from './rows/misfits.js';
import { type StoredTexts, shapeOf } from './rows/open-job.js';
import type { ResultColumn } from './rows/result-column.js';
import { identifier, literal } from './shared/duckdb-quote.js';
import type { Relation } from './shared/relation.js';

/**
 * The ledger of the batches of a sink, and the rows of those that are not loaded. A load writes its batch in the same transaction as its rows,
 * so a batch never changes, whatever happens to the rows later. The rows have no key, which doubled the time of a load into DuckDB: there are few.
 */
const tables = ({ types, suffix }: Dialect) => `
  CREATE TABLE IF NOT EXISTS sink_batches (batch_id ${types.text} PRIMARY KEY, job ${types.text} NOT NULL, piece ${types.long} NOT NULL,
    table_name ${types.text} NOT NULL, columns ${types.text} NOT NULL, rows ${types.long} NOT NULL, landed_at ${types.time} NOT NULL,
    loaded_at ${types.time}, failures ${types.long} NOT NULL);
  CREATE TABLE IF NOT EXISTS sink_rows (batch_id ${types.text}, n ${types.long},
    content ${types.text}${suffix({ name: 'sink_row', type: 'text', is: '' })} NOT NULL)`;

/** The batches of a piece of work, of a job or of a table. */
export type BatchesOf = Pick<SinkBatch, 'table'> & { readonly job?: string; readonly piece?: number };

/** The batches of a sink that its record keeps. */
export interface SinkBatches {
  /** Creates the tables, if they are missing. */
  make(): Promise<void>;
  /** The ids of batches that are not loaded, in the order in which they landed. */
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
  let made: Promise<void> | null = null;
  const make = async () => {
    await database.make();
    await write(async (tx) => {
      await tx.lock('names');
      await tx.run(tables(tx.dialect));
    });
  };
  return {
    make() {
      made ??= make().catch((error: unknown) => {
        made = null;
        throw error;
      });
      return made;
    },

    async pending({ table, job, piece }) {
      const found = await write((tx) =>
        tx.rows<{ id: string }>(
          `SELECT batch_id AS id FROM sink_batches WHERE loaded_at IS NULL AND table_name = $1
             AND job = coalesce($2, job) AND piece = coalesce(CAST($3 AS bigint), piece) ORDER BY landed_at, batch_id`,
          [table, job ?? null, piece ?? null],
        ),
      );
      return found.map(({ id }) => id);
    },

    read: (batchId) =>
      write(async (tx) => {
        const [batch] = await tx.rows<Pick<SinkBatch, 'job' | 'table'> & { readonly columns: string }>(
          'SELECT job, table_name AS "table", columns FROM sink_batches WHERE batch_id = $1 AND loaded_at IS NULL',
          [batchId],
        );
        if (batch === undefined) return null;
        const columns = JSON.parse(batch.columns) as readonly SinkColumn[];
        // One text is read and parsed in half the time of many.
        const all = `SELECT string_agg(content, ',' ORDER BY n) AS "all" FROM sink_rows WHERE batch_id = $1`;
        const [lines] = await tx.rows<{ all: string }>(all, [batchId]);
        const rows = JSON.parse(`[${lines?.all}]`) as Record<string, Json>[];
        for (const { name, type } of columns) if (type === 'time') unifyTimes(rows, name);
        return { ...batch, batchId, columns, rows };
      }),

    loaded: (batchId) =>
      write(async (tx) => {
        await tx.run(`UPDATE sink_batches SET loaded_at = ${tx.dialect.now()} WHERE batch_id = $1`, [batchId]);
        await tx.run('DELETE FROM sink_rows WHERE batch_id = $1', [batchId]);
      }),

    failed: (batchId) =>
      write(async (tx) => {
        const counted = 'UPDATE sink_batches SET failures = failures + 1 WHERE batch_id = $1 RETURNING failures';
        const [batch] = await tx.rows<{ failures: unknown }>(counted, [batchId]);
        return Number(batch?.failures ?? 1);
      }),
  };
}

/** Writes the times of a column in one form, because databases write them in different ways. Rows of one request have one time. */
function unifyTimes(rows: readonly Record<string, Json>[], name: string): void {
  let [last, time] = ['', ''];
  for (const row of rows) {
    const text = row[name];
    if (typeof text !== 'string') continue;
    if (text !== last) {
      const at = Date.parse(/Z$|[+-]\d\d(:?\d\d)?$/.test(text) ? text : `${text}Z`);
      [last, time] = [text, Number.isNaN(at) ? text : new Date(at).toISOString()];
    }
    row[name] = time;
  }
}

/** Rows that a transaction has loaded: a query of them, and their order. */
interface LandedRows extends Pick<SinkBatch, 'job' | 'table' | 'columns'> {
  readonly piece: number;
  readonly query: string;
  readonly values?: readonly SqlValue[];
  /** Expression of the number of a row, by which the rows are in order. */
  readonly place: string;
}

/** Keeps rows as a batch, in the transaction that loads them. Without rows, there is none. */
async function keepBatch(tx: Transaction, landed: LandedRows): Promise<void> {
  const { job, table, columns, piece, query, values, place } = landed;
  const id = literal(randomUUID());
  await tx.run(
    `INSERT INTO sink_rows (batch_id, n, content) SELECT ${id}, ${place}, ${tx.dialect.asJson('v')} FROM (${query}) v`,
    values,
  );
  await tx.run(
    `INSERT INTO sink_batches (batch_id, job, piece, table_name, columns, rows, landed_at, loaded_at, failures)
     SELECT ${id}, CAST($1 AS text), ${piece}, ${literal(table)}, CAST($2 AS text), count(*), ${tx.dialect.moment('$3')}, NULL, 0
     FROM sink_rows WHERE batch_id = ${id} HAVING count(*) > 0`,
    [job, JSON.stringify(columns), Date.now()],
  );
}

/** Rows of a job: the condition on their numbers, and the lowest and highest one. */
interface Numbers {
  readonly numbers: string;
  readonly first: number;
  readonly last: number;
}

/** Keeps rows of a job, with the columns of its view. `piece`: their slice. Large rows have several batches. */
export async function keepRows(
  tx: Transaction,
  job: InputColumns & StoredTexts & { readonly job: string; readonly piece: number },
  { numbers, first, last }: Numbers,
): Promise<void> {
  const results = jobColumns(shapeOf(job));
  const where = `${viewedRows(job.job)} AND ${numbers}`;
  const firsts = await portionsOf(tx, where, first, last);
  for (const [nth, from] of firsts.entries()) {
    const part = `${where} AND row_number BETWEEN ${from} AND ${(firsts[nth + 1] ?? last + 1) - 1}`;
    const { own, added, query } = viewQuery(tx.dialect, part, job, results);
    const columns = [
      ...own.map((name, index) => ({ name, type: inputType(job.types?.[index]) })),
      ...added.map((name, index) => ({ name, type: resultType(results[index] as ResultColumn) })),
    ];
    // The last column is the number of the row.
    const place = identifier(added.at(-1) as string);
    await keepBatch(tx, { job: job.job, table: 'rows', columns, piece: job.piece, query, place });
  }
}

const inputType = (type: string | undefined): string => (type === undefined || type === TEXT ? 'text' : type);

const storedTypes: Readonly<Record<string, string>> = {
  ...{ http_status: 'integer', row_number: 'integer', cost_dollars: 'number', fetched_at: 'time', response: 'json' },
};

function resultType({ from }: ResultColumn): string {
  if ('stored' in from) return storedTypes[from.stored] ?? 'text';
  if ('count' in from) return 'integer';
  const { type } = from;
  return type === 'string' || type === 'onlyText' ? 'text' : type === 'structure' ? 'json' : type;
}

/** Keeps rows of a table of events or monitors. `where`: condition on the rows, with its values. */
export async function keepRecords(
  tx: Transaction,
  { name, columns }: Relation,
  { job, where, values }: Pick<LandedRows, 'job' | 'values'> & { readonly where: string },
): Promise<void> {
  const shown = columns.filter((column) => !internal.includes(column.name));
  await keepBatch(tx, {
    ...{ job, table: name as SinkBatch['table'], piece: 0, values, place: 'row_number() OVER ()' },
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
};
