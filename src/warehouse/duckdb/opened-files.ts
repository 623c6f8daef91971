import { chmodSync, lstatSync, rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { filesOpenForWriting, type OpenFile } from '../../files/open-path.js';
import { realPath } from '../../files/same-file.js';

/** Bytes of a new database. */
const EMPTY_BYTES = 12_288;
/** The clock of a file system may be this much late, in ms. */
const CLOCK_MS = 20;

/** A file with the name that a link gave it, for its removal. */
export interface Foreign {
  readonly path: string;
  readonly ino: bigint;
}

/** Returns a check of the files that DuckDB has opened since then. DuckDB opens files by their names, which may lead elsewhere meanwhile. */
export function watchOpening(file: string) {
  const since = Date.now() - CLOCK_MS;
  const before = new Set(filesOpenForWriting()?.map(({ path }) => path));
  const made: Foreign[] = [];
  return {
    /** Throws if DuckDB opened another file, because a link took the place of this one or of its folder. `isNew`: only its owner may read it. */
    check(isNew = false): void {
      const opened = filesOpenForWriting();
      const own = opened === null ? file : opened.find(({ path }) => path === file)?.handle;
      if (own !== undefined && realPath(file) === file) {
        if (isNew) chmodSync(own, 0o600);
        return;
      }
      for (const one of opened ?? []) if (!before.has(one.path) && isEmptyDatabase(one, since)) made.push(foreign(one));
      throw new WarehouseUnusable(
        'warehouse-path-unusable',
        `${file} was replaced by a link while it was opened: name the file itself`,
      );
    },
    /** Removes the empty databases that DuckDB made in other places. The caller has closed them. */
    remove: () => made.forEach(removeForeign),
  };
}

function isEmptyDatabase({ path, handle }: OpenFile, since: number): boolean {
  const { size, birthtimeMs } = statSync(handle);
  return size === EMPTY_BYTES && birthtimeMs >= since && !path.includes('/.searchflow-draft-');
}

const foreign = ({ path, handle }: OpenFile): Foreign => ({ path, ino: statSync(handle, { bigint: true }).ino });

export function removeForeign({ path, ino }: Foreign): void {
  if (lstatSync(path, { throwIfNoEntry: false, bigint: true })?.ino === ino) rmSync(path);
}

/** The open log of a file: a path for its rights, and logs that were made elsewhere, because a link took the place of the folder. */
export function logsOf(file: string): { readonly own: string | null; readonly elsewhere: readonly Foreign[] } {
  const log = `${file}.wal`;
  const opened = filesOpenForWriting();
  if (opened === null) return { own: log, elsewhere: [] };
  const beside = new Set(opened.map(({ path }) => `${path}.wal`));
  const named = opened.filter(({ path }) => basename(path) === basename(log));
  return {
    own: named.find(({ path }) => path === log)?.handle ?? null,
    elsewhere: named.filter(({ path }) => !beside.has(path)).map(foreign),
  };
}
