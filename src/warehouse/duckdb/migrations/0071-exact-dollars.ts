import { dollarsOf, spendView } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { rowComments } from '../../rows/row-tables.js';

import { duckDbResults } from '../dialect/result-dialect.js';

const REPLACE = 'CREATE OR REPLACE VIEW';
const own = ['row_store', 'enriched_rows', 'searchflow_runs'];

/** Reads a field only if it is a text; see `ValueType`. */
const text = (name: string) =>
  `CASE WHEN error_message IS NULL OR json_type(response, '$.${name}') = 'VARCHAR' THEN json_extract_string(response, '$.${name}') END AS ${name}`;

/** The views have exact dollars, and only texts in columns for texts. A job with the name spend keeps its view. */
export const exactDollars = {
  name: '0071-exact-dollars',
  sql: (_taken: ReadonlySet<string>, ofJobs: ReadonlySet<string>) => `
${REPLACE} enriched_rows AS
SELECT * EXCLUDE (response, request_id, cost_micros, fetched_at, loaded_at, outdated_at, vanished_at),
  ${text('text')}, json_extract(response, '$.highlights') AS highlights, ${text('summary')},
  response, request_id, cost_micros, ${dollarsOf('cost_micros')} AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at
FROM row_store;
${makeResultViews(duckDbResults, REPLACE)}
${
  ofJobs.has('spend')
    ? rowComments(own, false)
    : `${spendView((moment) => `CAST(${moment} AS DATE)`, '', REPLACE)};\n${rowComments([...own, 'spend'], false)}`
}`,
} as const;
