import type { RowError, RowFields, RowResult, RowsHow } from '../enrich-rows-schemas.js';

/** Some rows, which need not follow each other, with their numbers. */
export interface SomeRows {
  readonly how: RowsHow;
  readonly rows: readonly RowFields[];
  readonly indexes: readonly number[];
}

/** What is known of rows before they are bought. */
export interface RowsPlan {
  /** Whether the worker has a record, so that an activity may have many requests. */
  readonly record: boolean;
  /** The key of each row, or why it cannot be bought. Rows with one key get one answer. */
  readonly units: readonly (string | RowError)[];
  /** The most that one row may cost, in micro-dollars. */
  readonly mostMicros: number;
  /** The field with the URL; null for requests. */
  readonly urlField: string | null;
}

/** Rows to buy in one activity. */
export interface RowsPiece extends SomeRows {
  /** When the call began to buy these rows, in Unix ms: failures before may be bought again. */
  readonly since: number;
  /** The most bytes of the results as JSON. */
  readonly maxBytes: number;
  /** Whether no other rows wait in the workflow. */
  readonly isLast: boolean;
  /** Whether an earlier activity of the call paid the rows, and had no room for their answers: the results end before a missing one. */
  readonly isPaid: boolean;
  /** The id of the call, and its cap in micro-dollars; only for a worker with a record. Null: no cap. */
  readonly call: { readonly id: string; readonly capMicros: number | null } | null;
}

export interface RowsBought {
  /** The results of the first rows, as many as fit. */
  readonly results: readonly RowResult[];
  /** The bytes of the results of all rows, also of those that do not fit. */
  readonly bytes: number;
  /** What was paid for the other rows, in dollars. */
  readonly costs: readonly number[];
  /** Numbers of rows whose failure was free and may pass. */
  readonly again: readonly number[];
  readonly unknownOutcomes: number;
  readonly stopped: RowError | null;
}
