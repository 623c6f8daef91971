import type { ErrorCode } from '../../core/errors/registry.js';
import { TooMuchAtOnce, WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';

/** Messages of DuckDB about a full disk, and about too little memory. */
export const DISK_FULL = /No space left|ENOSPC|disk quota|EDQUOT|Could not write|failed to offload/i;
export const OUT_OF_MEMORY = /Out of Memory Error|failed to (pin|allocate)/;

const cases: readonly {
  readonly when: RegExp;
  readonly code: ErrorCode;
  readonly say: (file: string) => string;
  readonly as?: typeof WarehouseUnusable;
  /** Whether DuckDB's own message is left out, because the sentence says the same. */
  readonly whole?: boolean;
}[] = [
  {
    when: /not a valid DuckDB database file/,
    code: 'warehouse-path-unusable',
    say: (file) => `${file} is not a DuckDB database: load into another file, or move this one away`,
  },
  {
    when: /replaying WAL|WAL file/i,
    code: 'warehouse-damaged',
    say: (file) =>
      `The write-ahead log ${file}.wal is damaged: move it away to open the warehouse as of its last checkpoint, or move both files away. Then run the job again: missing rows are loaded from the journal, nothing is bought twice`,
  },
  {
    when: DISK_FULL,
    code: 'warehouse-full',
    say: (file) => `The disk of ${file} is full: free some space, then run the job again; no paid answer is lost`,
    whole: true,
  },
  {
    when: /Permission denied|Read-only file system|read-only mode|EACCES|EROFS/i,
    code: 'warehouse-path-unusable',
    say: (file) => `${file} cannot be written by this user: change its permissions, or load into another file`,
  },
  {
    when: /Is a directory|Not a directory|No such file|Cannot open file|EEXIST|ENOTDIR|EISDIR|ENAMETOOLONG/i,
    code: 'warehouse-path-unusable',
    say: (file) => `${file} cannot be opened: name another file`,
  },
  {
    when: /checksum|corrupt|Could not read enough bytes|Serialization Error|newer than the version|trying to read a database file/i,
    code: 'warehouse-damaged',
    say: (file) =>
      `${file} is damaged, or was written by another version of DuckDB: move it away and run the job again; all rows are loaded from the journal, nothing is bought twice`,
  },
  {
    when: OUT_OF_MEMORY,
    code: 'warehouse-out-of-memory',
    say: (file) =>
      `The work on ${file} needs more memory than DuckDB may use: check for a very large row, answer or event`,
    as: TooMuchAtOnce,
  },
  {
    when: /with name .* already exists/,
    code: 'warehouse-name-taken',
    say: (file) =>
      `${file} has tables or views of the same names that are not this warehouse's: load into another file`,
  },
  {
    when: /Constraint Error/,
    code: 'warehouse-changed',
    say: (file) =>
      `The tables in ${file} differ from those that searchflow created: undo the change, or load into another file`,
  },
];

/**
 * Returns DuckDB's error as `WarehouseBusy` (wait) or `WarehouseUnusable` (with the fix). Returns any other error unchanged.
 */
export function warehouseError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof WarehouseBusy || error instanceof WarehouseUnusable) return error;
  const { message } = error;
  if (/Could not set lock|Conflicting lock|used by another process/i.test(message)) {
    const pid = /\(PID (\d+)\)/.exec(message)?.[1] ?? null;
    const who = pid === null ? 'another process' : `process ${pid}`;
    return new WarehouseBusy(
      'warehouse-in-use',
      `${file} is open in ${who}: close it there first`,
      pid === null ? null : Number(pid),
    );
  }
  const found = cases.find(({ when }) => when.test(message));
  if (!found) return error;
  const { code, say, as: Kind = WarehouseUnusable, whole = false } = found;
  return new Kind(code, whole ? say(file) : `${say(file)} (DuckDB: ${firstLine(message)})`, { cause: error });
}

function firstLine(message: string): string {
  const line = (message.split('\n')[0] as string).trim();
  return line.length > 300 ? `${line.slice(0, 297)}...` : line;
}
