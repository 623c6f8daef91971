import type { Migration } from '../../../postgres/index.js';
import { makeResultViews } from '../../rows/make-views.js';
import { resultRelations } from '../../rows/result-relations.js';
import { postgresResults } from '../dialect/result-dialect.js';

/** What came back for rows, by operation, and how a job's requests are made. A job that has one of the names gets another view. */
export const rowResults: Migration = {
  name: '0030-row-results',
  sql: (schema) => `
ALTER TABLE ${schema}.searchflow_jobs ADD COLUMN request json;
COMMENT ON COLUMN ${schema}.searchflow_jobs.request IS 'How the request of each row is made: its template, the options beside it, and how many rows share a run; NULL where it is the URL alone.';
DO $body$ DECLARE wanted text; BEGIN
  FOREACH wanted IN ARRAY ARRAY[${resultRelations.map(({ name }) => `'${name}'`).join(', ')}] LOOP
    IF EXISTS (SELECT FROM ${schema}.searchflow_jobs WHERE view_name = wanted) THEN
      EXECUTE format('ALTER VIEW ${schema.replaceAll('%', '%%').replaceAll("'", "''")}.%I RENAME TO %I', wanted, wanted || '_job');
      UPDATE ${schema}.searchflow_jobs SET view_name = wanted || '_job' WHERE view_name = wanted;
    END IF;
  END LOOP;
END $body$;
${makeResultViews(postgresResults(`${schema}.`))}`,
};
