/** Operations that can be bought for rows: `contents` of a column of URLs, or the answer to a request that is rendered for each row. */
export const rowOperations = ['contents', 'search', 'answer', 'findSimilar', 'agent', 'research'] as const;
export type RowOperation = (typeof rowOperations)[number];

export function isRowOperation(name: string): name is RowOperation {
  return (rowOperations as readonly string[]).includes(name);
}

/** Whether the operation starts a run at the service (API reference: /agent/runs), which takes minutes or longer. */
export function isLongRunning(operation: string): boolean {
  return operation === 'agent' || operation === 'research';
}

/** Whether runs of the operation can be ended early: research tasks cannot. */
export function canBeEnded(operation: string): boolean {
  return operation === 'agent';
}

/** Field of the rows of a shared run, in its input and its output. */
export const ROWS_FIELD = 'rows';
/** Tag and reason of a row that is missing from the output of its run. */
export const leftOut = {
  tag: 'MISSING_FROM_RESPONSE',
  reason: 'the output of the run has no object with the row_id of this row',
} as const;
/** Field that identifies a row of a shared run: the hash of its cells. */
export const ROW_ID_FIELD = 'row_id';
