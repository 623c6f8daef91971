import type { Migration } from '../../../postgres/index.js';

/**
 * The functions that read texts as values resolve names only in PostgreSQL's own schema. The views of a warehouse call these functions in
 * sessions of other programs, whose search path may begin with another schema. The setting costs less than a tenth of the time of a
 * function.
 */
export const readerPath: Migration = {
  name: '0072-reader-path',
  sql: (schema) =>
    ['time', 'number', 'integer']
      .map((name) => `ALTER FUNCTION ${schema}.searchflow_${name}(text) SET search_path TO pg_catalog, pg_temp;`)
      .join('\n'),
};
