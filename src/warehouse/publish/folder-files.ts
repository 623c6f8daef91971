import { constants, lstatSync } from 'node:fs';
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { inFolder, secondName } from '../../files/open-path.js';
import { isDraftOf, moveDurably, removeDrafts, writeDurably } from '../../files/write-durably.js';
import { isDataPath, MANIFEST } from './manifest.js';

/** The files of a target, below its folder or prefix. Paths are relative, with slashes. */
export interface TargetFiles {
  /** The target, for messages. */
  readonly shown: string;
  readonly is: 'folder' | 'prefix';
  /** The paths of all files. Throws `WarehouseUnusable` if the target cannot be used. */
  paths(): Promise<readonly string[]>;
  manifest(): Promise<string>;
  /** The path or URL of a file, for DuckDB. `alias`: a free path in the folder of drafts. */
  open(path: string, alias: string): Promise<string>;
  size(path: string): Promise<number | null>;
  put(draft: string, path: string): Promise<void>;
  /** Replaces the manifest in one step, durably. */
  putManifest(text: string): Promise<void>;
  /** Removes data files that `keeps` does not name, as far as the target can. Files of other programs are never removed. */
  clean(keeps: ReadonlySet<string>): Promise<void>;
}

/**
 * The files of a target in a folder, which is a real path and is made when the first file is written. Every file is opened and named in its
 * own open folder, so that a link that takes the place of a folder or a file meanwhile leads nowhere.
 */
export function folderFiles(folder: string): TargetFiles {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  /** Works on a file by a path that leads to its folder. */
  const at = <T>(path: string, work: (held: string) => Promise<T>, mode?: number): Promise<T> => {
    const file = join(folder, path);
    return inFolder(dirname(file), (held) => work(join(held, basename(file))), mode);
  };
  return {
    ...{ shown: folder, is: 'folder' },
    paths: async () => (lstatSync(folder, { throwIfNoEntry: false }) ? pathsBelow(folder) : []),
    manifest: () =>
      at(MANIFEST, (held) => readFile(held, { encoding: 'utf8', flag: O_RDONLY | O_NOFOLLOW | O_NONBLOCK })),
    open: async (path, alias) => (await at(path, (held) => secondName(held, alias))) ?? join(folder, path),
    size: async (path) => lstatSync(join(folder, path), { throwIfNoEntry: false })?.size ?? null,
    put: (draft, path) => at(path, (held) => moveDurably(draft, held), 0o777),
    putManifest: (text) => at(MANIFEST, (held) => writeDurably(held, text, { mode: 0o644 }), 0o777),
    async clean(keeps) {
      if (!lstatSync(folder, { throwIfNoEntry: false })) return;
      await at(MANIFEST, removeDrafts);
      const unnamed = (await pathsBelow(folder)).filter((path) => isDataPath(path) && !keeps.has(path));
      for (const path of unnamed) await at(path, (held) => rm(held, { force: true }));
      const parents = unnamed.flatMap((path) => [dirname(path), dirname(dirname(path))]);
      // The folders of partitions come first, because they are in the folders of tables.
      const emptied = [...new Set(parents)].filter((path) => path !== '.').sort((a, b) => b.length - a.length);
      // A folder that is not empty stays.
      for (const path of emptied) await at(path, rmdir).catch(() => undefined);
    },
  };
}

/** The text of the manifest; null if there is none. Then a target may have the files of a publish that was killed, and nothing else. */
export async function readManifest({ shown, is, paths, manifest }: TargetFiles): Promise<string | null> {
  const present = await paths();
  if (present.includes(MANIFEST)) return manifest();
  const other = present.find((path) => !isDataPath(path) && !isDraftOf(MANIFEST, path));
  if (other === undefined) return null;
  throw new WarehouseUnusable(
    'publish-target-taken',
    `${shown} has files that are not of a publish (${other}) and no ${MANIFEST}: name an empty or a new ${is}`,
  );
}

/** The paths of all files below a folder, and of folders that are too deep for data files. */
async function pathsBelow(folder: string, prefix = '', depth = 0): Promise<string[]> {
  const entries = await readdir(join(folder, prefix), { withFileTypes: true });
  const paths: string[] = [];
  for (const entry of entries) {
    const path = `${prefix}${entry.name}`;
    if (entry.isDirectory() && depth < 2) paths.push(...(await pathsBelow(folder, `${path}/`, depth + 1)));
    else paths.push(path);
  }
  return paths;
}
