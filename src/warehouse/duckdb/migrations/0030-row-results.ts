import { makeResultViews } from '../../rows/make-views.js';
import { resultRelations } from '../../rows/result-relations.js';
import { duckDbResults } from '../dialect/result-dialect.js';

/**
 * Views of the answers of rows, by operation, and the template of a job's requests. If a job's view has the name of one of the new views,
 * the view of the job is renamed.
 */
export const rowResults = {
  name: '0030-row-results',
  sql: (taken: ReadonlySet<string>) =>
    [
      'ALTER TABLE searchflow_jobs ADD COLUMN request JSON;',
      `COMMENT ON COLUMN searchflow_jobs.request IS 'Template of the requests: the template, its options, and the number of rows that share a run; NULL if the request is only the URL.';`,
      ...resultRelations
        .filter(({ name }) => taken.has(name))
        .flatMap(({ name }) => [
          `ALTER VIEW ${name} RENAME TO ${name}_job;`,
          `UPDATE searchflow_jobs SET view_name = '${name}_job' WHERE lower(view_name) = '${name}';`,
        ]),
      makeResultViews(duckDbResults),
    ].join('\n'),
} as const;
