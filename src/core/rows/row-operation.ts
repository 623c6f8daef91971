/**
 * Operations that can be bought for rows. `contents` buys the pages of a column of URLs. Each other operation buys the answer to a request
 * that is rendered for each row.
 */
export const rowOperations = ['contents', 'search', 'answer', 'agent'] as const;
export type RowOperation = (typeof rowOperations)[number];

/** Name of the operation of agent runs in keys and segments. */
export const AGENT = 'agent';

export function isRowOperation(name: string): name is RowOperation {
  return (rowOperations as readonly string[]).includes(name);
}

/** Whether a unit of the operation is a page, so that a request has a batch of units. Else a unit is a whole request. */
export const buysPages = (operation: string): boolean => operation === 'contents';

/** Whether the operation starts a run at the service (API reference: /agent/runs). Such a run takes minutes or longer. */
export function isLongRunning(operation: string): boolean {
  return operation === AGENT;
}

/** Name of the field that holds the rows in the input and in the output of a shared run. */
export const ROWS_FIELD = 'rows';
/** Field that identifies a row of a shared run: the hash of its cells. */
export const ROW_ID_FIELD = 'row_id';

/** Whether an answer has one object for each of its rows. Without an output schema the answer is one text for all rows. */
export function sharesAnswers(staged: { readonly rowsPerRun?: number; readonly options: object }): boolean {
  return (staged.rowsPerRun ?? 1) > 1 && 'outputSchema' in staged.options;
}
