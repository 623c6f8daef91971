import { contentTypes } from '../request-values.js';

/** What differs between the operations of rows. The table `rowKinds` has how they are sent, `ownColumns` the columns of their answers. */
interface OperationFacts {
  /** Singular and plural of a unit. */
  readonly unit: readonly [one: string, many: string];
  /** Whether a unit is a page, so that a request has a batch of units. Else a unit is the request that is rendered for a row. */
  readonly buysPages?: true;
  /** Whether a request starts a run at the service (API reference: /agent/runs). Such a run takes minutes or longer. */
  readonly isLongRunning?: true;
  /** The flags of a request that the command accepts; it accepts `--request` and `--option` for every operation. */
  readonly flags: readonly string[];
  /** The paths of the values that an answer is bought for; `structured`: with an output schema. */
  readonly values: readonly (readonly string[])[];
  readonly structured?: readonly (readonly string[])[];
}

/** Name of the operation of agent runs in keys and segments. */
export const AGENT = 'agent';

const operations = {
  contents: {
    unit: ['URL', 'URLs'],
    buysPages: true,
    flags: [...contentTypes, 'urlColumn', 'defaultScheme', 'batch'],
    values: contentTypes.map((name) => [name]),
  },
  search: {
    unit: ['search', 'searches'],
    flags: ['query', 'numResults', 'schema', ...contentTypes],
    values: [['results']],
    structured: [['output', 'content']],
  },
  answer: { unit: ['answer', 'answers'], flags: ['query', 'schema', 'text'], values: [['answer']] },
  agent: {
    unit: ['agent run', 'agent runs'],
    isLongRunning: true,
    flags: ['query', 'schema', 'effort', 'rowsPerRun'],
    values: [['output', 'text']],
    structured: [['output', 'structured']],
  },
} satisfies Readonly<Record<string, OperationFacts>>;

export type RowOperation = keyof typeof operations;
export const rowOperations = Object.keys(operations) as [RowOperation, ...RowOperation[]];

const unknown: OperationFacts = { unit: ['unit', 'units'], flags: [], values: [] };

/** Stored jobs may name operations of other versions. */
export const operationFacts = (operation: string): OperationFacts =>
  isRowOperation(operation) ? operations[operation] : unknown;
export const isRowOperation = (name: string): name is RowOperation => Object.hasOwn(operations, name);
export const buysPages = (operation: string): boolean => operationFacts(operation).buysPages ?? false;
export const isLongRunning = (operation: string): boolean => operationFacts(operation).isLongRunning ?? false;

/** Name of the field that holds the rows in the input and in the output of a shared run. */
export const ROWS_FIELD = 'rows';
/** Field that identifies a row of a shared run: the hash of its cells. */
export const ROW_ID_FIELD = 'row_id';

/** Whether an answer has one object for each of its rows. Without an output schema the answer is one text for all rows. */
export function sharesAnswers(staged: { readonly rowsPerRun?: number; readonly options: object }): boolean {
  return (staged.rowsPerRun ?? 1) > 1 && 'outputSchema' in staged.options;
}
