import { spendView } from '../../rows/make-tables.js';
import { rowComments } from '../../rows/row-tables.js';

const named = ['searchflow_jobs', 'row_store', 'enriched_rows', 'load_ledger', 'unknown_outcomes'];

/** The view of costs, and a comment on every table, view and column. A job with the name spend keeps its view. */
export const spendAndComments = {
  name: '0002-spend-and-comments',
  sql: (taken: ReadonlySet<string>) =>
    taken.has('spend')
      ? rowComments(named, false)
      : `${spendView((moment) => `CAST(${moment} AS DATE)`)};\n${rowComments([...named, 'spend'], false)}`,
} as const;
