import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { Schema } from '../../postgres/index.js';
import { createSchema, renewSchema, schemaName } from '../schema.js';
import { postgresDialect } from './dialect.js';
import { readers } from './readers.js';
import { transactionOf } from './transaction.js';

/** Large columns, which are compressed with lz4. */
const large = [
  ['row_store', 'response'],
  ...['events', ...[...stateTables, ...partTables].map(({ name }) => name)].map((table) => [table, 'data']),
] as const;

export const postgresSchema: Schema = {
  kind: 'warehouse',
  create(schema) {
    const prefix = `${schema}.`;
    return [
      readers(prefix),
      createSchema(postgresDialect(prefix)),
      `CREATE INDEX row_store_place ON ${prefix}row_store (job, row_number);`,
      // A slice of a new run asks which of its units have an answer, from any job.
      `CREATE INDEX row_store_unit ON ${prefix}row_store USING hash (unit_key);`,
      // The second pass of a run and the commands for failed rows read only these rows of a job.
      `CREATE INDEX row_store_failed ON ${prefix}row_store (job, slice) WHERE status = 'error';`,
      `CREATE INDEX events_load ON ${prefix}events (load_id);`,
      `CREATE INDEX events_time ON ${prefix}events (origin, created_at);`,
      `CREATE INDEX events_item ON ${prefix}events (origin, item_id) WHERE item_id IS NOT NULL;`,
      `CREATE INDEX webset_item_enrichments_item ON ${prefix}webset_item_enrichments (origin, item_id);`,
      lz4(prefix),
    ].join('\n');
  },
  migrations: [
    {
      name: schemaName(postgresDialect('')),
      async run(tx, schema) {
        await tx.query(`SET LOCAL search_path TO ${schema}`);
        await tx.query(readers(`${schema}.`));
        await renewSchema(transactionOf(tx, postgresDialect(`${schema}.`)));
      },
    },
  ],
};

/**
 * Statement that sets the compression of large columns to lz4, which is several times as fast as the default. The statement changes nothing
 * if the server was built without lz4. The prefix may contain `$$`, so the block has a named dollar quote.
 */
function lz4(prefix: string): string {
  const quoted = prefix.replaceAll("'", "''");
  return `DO $body$ BEGIN
  ${large.map(([table, column]) => `EXECUTE 'ALTER TABLE ${quoted}${table} ALTER COLUMN ${column} SET COMPRESSION lz4';`).join('\n  ')}
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value OR syntax_error THEN NULL;
END $body$;`;
}
