import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

/** First bytes of each kind of file, with their offset. */
const kinds = [
  { kind: 'DuckDB database', at: 8, magic: 'DUCK' },
  { kind: 'SQLite database', at: 0, magic: 'SQLite format 3\0' },
  { kind: 'Parquet file', at: 0, magic: 'PAR1' },
  { kind: 'gzip file', at: 0, magic: '\x1f\x8b' },
  { kind: 'zip file or workbook', at: 0, magic: 'PK\x03\x04' },
] as const;

export type FileKind = (typeof kinds)[number]['kind'];

/**
 * Open descriptors of the DuckDB files that were checked. The descriptors stay open: closing a descriptor would release all locks of this
 * process on that file.
 */
const databases = new Map<string, number>();

/** The kind of a file by its first bytes; null for text and everything else. Throws the system's error if the file cannot be read. */
export function fileKind(path: string): FileKind | null {
  const open = databases.get(identityOf(statSync(path, { bigint: true })));
  if (open !== undefined) return kindOf(open);
  const fd = openSync(path, 'r');
  const kind = kindOf(fd);
  if (kind === 'DuckDB database') databases.set(identityOf(fstatSync(fd, { bigint: true })), fd);
  else closeSync(fd);
  return kind;
}

function kindOf(fd: number): FileKind | null {
  const start = Buffer.alloc(16);
  const text = start.toString('latin1', 0, readSync(fd, start, 0, start.length, 0));
  return kinds.find(({ at, magic }) => text.startsWith(magic, at))?.kind ?? null;
}

const identityOf = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }) => `${dev} ${ino}`;
