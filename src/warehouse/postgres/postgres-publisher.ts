import { join } from 'node:path';
import type { Publisher } from '../../core/publish-request.js';
import type { PgTransaction } from '../../postgres/index.js';
import { jobTable, type SourceTable } from '../export/file-parts.js';
import { type JobRows, memoryFor, portionsOf } from '../export/job-rows.js';
import { createPublisher, type PublishOptions } from '../publish/create-publisher.js';
import { nothingToPublish, publishedTables } from '../publish/published-tables.js';
import { readJob, unknownJob } from '../rows/row-store.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import type { Relation, RelationColumn } from '../shared/relation.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { postgresDialect } from './event-dialect.js';
import { copyAsJson, partOf } from './export-part.js';
import { postgresRowDialect } from './row-dialect.js';
import { rowTransaction } from './row-transaction.js';
import type { Warehouse } from './warehouse.js';

/** Publishes the tables of a schema. All of them are read in one snapshot, while loads continue. */
export function postgresPublisher(warehouse: Warehouse, options: PublishOptions): Publisher {
  return createPublisher({
    ...options,
    file: null,
    async read(subject, scratch, work) {
      const { shown } = warehouse;
      const isJob = typeof subject === 'object';
      if (!(await warehouse.exists())) throw isJob ? unknownJob(subject.job, shown) : nothingToPublish(subject, shown);
      const lines = join(scratch, 'source.jsonl');
      return warehouse.read(
        (tx) =>
          withScratchDuckDb(join(scratch, 'spill'), async (connection) => {
            const need = (megabytes: number) => setMemory(connection, megabytes);
            if (!isJob) {
              const tables = publishedTables(subject, postgresDialect()).map((table) => wholeTable(tx, table, lines));
              return work({ connection, need, source: subject, run: null, input: null, tables });
            }
            const { job } = subject;
            const rows = rowTransaction(tx, postgresRowDialect(`${warehouse.schema}.`));
            const { view, run, ...record } = await readJob(rows, job, shown);
            const part = partOf((bring) => bring(tx), record.where, lines);
            const portions: JobRows['portions'] = (from, to) => portionsOf(rows, record.where, from, to);
            const tables = [jobTable(view, { ...record, part, portions })];
            return work({ connection, need, source: `job ${job}`, run, input: record.input, tables });
          }),
        { snapshot: true },
      );
    },
  });
}

const types: Readonly<Record<RelationColumn['type'], string>> = {
  ...{ text: 'VARCHAR', id: 'VARCHAR', texts: 'VARCHAR[]', boolean: 'BOOLEAN', number: 'DOUBLE', time: 'TIMESTAMP' },
  ...{ small: 'INTEGER', integer: 'BIGINT', long: 'BIGINT', digest: 'UBIGINT', json: 'VARCHAR', parsed: 'VARCHAR' },
  other: 'VARCHAR',
};

/** Times are copied as UTC, and JSON as text, unchanged. */
function copied({ name, type }: RelationColumn): string {
  if (type === 'time') return `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS ${name}`;
  return type === 'json' || type === 'parsed' ? `CAST(${name} AS text) AS ${name}` : name;
}

function wholeTable(tx: PgTransaction, { name, columns }: Relation, lines: string): SourceTable {
  return {
    name,
    memory: memoryFor(columns.length),
    hasLong: false,
    async *parts() {
      const longest = await copyAsJson(tx, `SELECT ${columns.map(copied).join(', ')} FROM ${name}`, lines);
      const fields = columns.map((column) => `${column.name}: '${types[column.type]}'`).join(', ');
      yield `SELECT * FROM read_json(${literal(plainPath(lines))}, format = 'newline_delimited', compression = 'uncompressed',
        columns = {${fields}}, maximum_object_size = ${Math.max(65_536, longest + 1)})`;
    },
  };
}
