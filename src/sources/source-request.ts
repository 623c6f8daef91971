import type { Readable } from 'node:stream';
import type { SourceFields } from '../core/row-job-schemas.js';

export interface SourceRequest extends SourceFields {
  /**
   * The absolute path of a file or folder, a pattern such as `/data/*.csv`, an address such as `s3://…`, the address of a database with user
   * and password, or `-` for `stdin`.
   */
  readonly input: string;
  readonly stdin: Readable;
  /** Path of a copy of `stdin`, which can be read twice. */
  readonly piped?: string | undefined;
  /** Throws if one of these open files, named by its real path, must not be read. Absent: all may be read. */
  readonly checkFiles?: ((files: readonly string[]) => Promise<void>) | undefined;
  /** Of a CSV; null: detected. */
  readonly delimiter: string | null;
  readonly encoding?: string | undefined;
  /** Folder with extensions of DuckDB; null or absent: none. */
  readonly extensions?: string | null | undefined;
  /** Time in ms that DuckDB may take until it returns rows; default ten minutes. */
  readonly limitMs?: number;
  /** Whether the columns of a key identify the rows, so that their order does not matter. */
  readonly isKeyed?: boolean;
  /** Folder for temporary files of this request. The caller removes it. */
  readonly scratch: string;
}
