import type { Json } from '../core/text/json.js';
import type { CsvError, OpenedTable, RowRecord } from '../rows/index.js';
import type { SourceRequest } from './source-request.js';

/** Memory in bytes of a process that reads an input. */
export const MOST_MEMORY = 640 * 1_048_576;

/** The request to such a process. `template`: rendered for each row; null: none. */
export interface IsolatedRequest extends Omit<SourceRequest, 'stdin' | 'checkFiles'> {
  readonly template: Json | null;
  readonly isChecked: boolean;
}

/** A record whose cells are its JSON. */
export type SentRecord = Omit<RowRecord, 'cells' | 'json'> & { readonly json: string };

/** The columns of a table, and what is known before its rows are read. */
export type TableHeader = Omit<OpenedTable, 'typesAtEnd' | 'batches' | 'contentHash' | 'progress' | 'close'>;

/** A message of such a process. After each one but `beat`, a sign of life, the process waits until it is asked for the next one. */
export type ReaderMessage =
  | { readonly kind: 'beat' }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | { readonly kind: 'table'; readonly header: TableHeader; readonly hash: string | null }
  | {
      readonly kind: 'records';
      readonly records: readonly SentRecord[];
      readonly progress: ReturnType<OpenedTable['progress']>;
    }
  | {
      readonly kind: 'end';
      readonly hash: string | null;
      readonly types: ReturnType<NonNullable<OpenedTable['typesAtEnd']>> | undefined;
    }
  | { readonly kind: 'error'; readonly error: SentError };

/** An error as a message. `errorCode`: absent for an error that is no `CsvError`. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly errorCode?: CsvError['errorCode'] | undefined;
  readonly line?: number | null | undefined;
  readonly column?: number | null | undefined;
  readonly isTransient: boolean;
}
