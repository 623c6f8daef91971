import { makeResultViews } from '../../rows/make-views.js';
import { resultRelations } from '../../rows/result-relations.js';
import { duckDbResults } from '../dialect/result-dialect.js';

/** What came back for rows, by operation, and how a job's requests are made. A job that has one of the names gets another view. */
export const rowResults = {
  name: '0030-row-results',
  sql: (taken: ReadonlySet<string>) =>
    [
      'ALTER TABLE searchflow_jobs ADD COLUMN request JSON;',
      `COMMENT ON COLUMN searchflow_jobs.request IS 'How the request of each row is made: its template, the options beside it, and how many rows share a run; NULL where it is the URL alone.';`,
      ...resultRelations
        .filter(({ name }) => taken.has(name))
        .flatMap(({ name }) => [
          `ALTER VIEW ${name} RENAME TO ${name}_job;`,
          `UPDATE searchflow_jobs SET view_name = '${name}_job' WHERE lower(view_name) = '${name}';`,
        ]),
      makeResultViews(duckDbResults),
    ].join('\n'),
} as const;
