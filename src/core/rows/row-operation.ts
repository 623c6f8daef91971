/** What may be bought for the rows of a job: `contents` of a column of URLs, or the answer to a request made of each row. */
export const rowOperations = ['contents', 'search', 'answer', 'findSimilar', 'agent', 'research'] as const;
export type RowOperation = (typeof rowOperations)[number];

export function isRowOperation(name: string): name is RowOperation {
  return (rowOperations as readonly string[]).includes(name);
}

/** Whether it runs on at the service after its start (interface section 3.1), for minutes or longer. */
export function isLongRunning(operation: string): boolean {
  return operation === 'agent' || operation === 'research';
}

/** Whether what runs on can be ended early: there is no way to end a research task. */
export function canBeEnded(operation: string): boolean {
  return operation === 'agent';
}

/** Name under which several rows of one run are sent, and asked for in the output. */
export const ROWS_FIELD = 'rows';
/** Tag and reason of a row that the answer to its request says nothing of. */
export const leftOut = {
  tag: 'MISSING_FROM_RESPONSE',
  reason: 'the output of the run has no object with the row_id of this row',
} as const;
/** Field of such a row that tells which one it is: the hash of its cells. */
export const ROW_ID_FIELD = 'row_id';
