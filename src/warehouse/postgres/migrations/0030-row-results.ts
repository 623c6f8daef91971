import type { Migration } from '../../../postgres/index.js';
import { makeResultViews } from '../../rows/make-views.js';
import { resultRelations } from '../../rows/result-relations.js';
import { postgresResults } from '../dialect/result-dialect.js';

/**
 * Views of the answers of rows, by operation, and the template of a job's requests. If a job's view has the name of one of the new views,
 * the view of the job is renamed.
 */
export const rowResults: Migration = {
  name: '0030-row-results',
  sql: (schema) => `
ALTER TABLE ${schema}.searchflow_jobs ADD COLUMN request json;
COMMENT ON COLUMN ${schema}.searchflow_jobs.request IS 'Template of the requests: the template, its options, and the number of rows that share a run; NULL if the request is only the URL.';
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
