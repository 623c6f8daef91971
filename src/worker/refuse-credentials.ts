import { ApplicationFailure } from '@temporalio/common';
import { isPostgresUrl } from '../postgres/index.js';

/** What a workflow is told stays in its history, where a password has no place. */
export function refuseCredentials(into: string | undefined): void {
  if (into === undefined || !isPostgresUrl(into) || !URL.canParse(into)) return;
  const { username, password } = new URL(into);
  if (username === '' && password === '') return;
  throw ApplicationFailure.nonRetryable(
    'into: the address holds a user or password, which would stay in the history of the workflow; give the address without ' +
      "them, and the worker the credentials (the plugin's option warehouseUrl, SEARCHFLOW_WAREHOUSE_URL, or PGUSER and PGPASSWORD)",
    'BadInput',
  );
}
