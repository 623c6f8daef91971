import type { Publisher } from '../../core/publish-request.js';
import { jobTable, type SourceTable } from '../export/file-parts.js';
import { createPublisher, type PublishOptions } from '../publish/create-publisher.js';
import { nothingToPublish, publishedTables } from '../publish/published-tables.js';
import { readJob, unknownJob } from '../rows/row-store.js';
import { inTransaction } from '../shared/in-transaction.js';
import type { Relation } from '../shared/relation.js';
import { duckDbParts, onceFree } from './duckdb-rows.js';
import { rowTransaction } from './load-parts.js';
import { duckDbDialect } from './schema.js';
import type { Warehouse } from './warehouse.js';

/** Publishes the tables of a DuckDB file. All loads wait meanwhile. */
export function duckDbPublisher(warehouse: Warehouse, options: PublishOptions): Publisher {
  return createPublisher({
    ...options,
    file: warehouse.file,
    read: (subject, _scratch, work) =>
      onceFree(async () => {
        const isJob = typeof subject === 'object';
        if (!(await warehouse.exists()))
          throw isJob ? unknownJob(subject.job, warehouse.file) : nothingToPublish(subject, warehouse.file);
        return warehouse.use((connection, grant) =>
          inTransaction(connection, async () => {
            const need = (memory: number) => grant({ memory });
            if (!isJob) {
              const tables = publishedTables(subject, duckDbDialect).map(wholeTable);
              return work({ connection, need, source: subject, run: null, input: null, tables });
            }
            const { job } = subject;
            const tx = rowTransaction(connection);
            const { view, run, ...record } = await readJob(tx, job, warehouse.file);
            const tables = [jobTable(view, { ...record, ...duckDbParts(tx, record.where) })];
            return work({ connection, need, source: `job ${job}`, run, input: record.input, tables });
          }),
        );
      }),
  });
}

/** JSON columns are text in files, because every reader supports text. */
function wholeTable({ name, columns }: Relation): SourceTable {
  const all = columns.map((column) =>
    column.type === 'json' || column.type === 'parsed'
      ? `CAST(${column.name} AS VARCHAR) AS ${column.name}`
      : column.name,
  );
  return {
    name,
    memory: 0,
    hasLong: false,
    async *parts() {
      yield `SELECT ${all.join(', ')} FROM ${name}`;
    },
  };
}
