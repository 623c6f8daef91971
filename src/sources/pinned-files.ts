import { constants } from 'node:fs';
import { type FileHandle, open, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFolder } from '../files/make-folder.js';
import { openedPath, pathOfHandle } from '../files/open-path.js';
import { realPath } from '../files/same-file.js';
import { CsvError, InputUnsteady, ioError, type RowReader } from '../rows/index.js';

export interface PinnedFiles {
  readonly files: readonly string[];
  /** Folder for the links to the open files. The caller removes it. */
  readonly scratch: string;
  /** Throws if one of these files must not be read. */
  check(files: readonly string[]): Promise<void>;
}

/**
 * Returns a reader of files that are opened first, then checked, and read through their handles: a name that leads to another file in the
 * meantime changes nothing. `readerOf` gets paths to the open files, which messages show as their names.
 */
export function pinnedReader(
  { files, scratch, check }: PinnedFiles,
  readerOf: (files: readonly string[]) => RowReader,
): RowReader {
  return {
    async open(signal) {
      const handles: FileHandle[] = [];
      const names = new Map<string, string>();
      const close = async () => void (await Promise.all(handles.splice(0).map((handle) => handle.close())));
      const named = (error: unknown) => withNames(error, names);
      try {
        for (const [index, file] of files.entries()) {
          const { handle, opened } = await pin(file, check);
          handles.push(handle);
          const folder = join(scratch, 'pinned', String(index));
          makeFolder(folder);
          const link = join(folder, basename(file));
          await symlink(pathOfHandle(handle.fd, opened), link);
          names.set(link, file);
        }
        const table = await readerOf([...names.keys()]).open(signal);
        return {
          ...table,
          async *batches() {
            try {
              yield* table.batches();
            } catch (error) {
              throw named(error);
            }
          },
          close: () => table.close().finally(close),
        };
      } catch (error) {
        await close();
        throw named(error);
      }
    },
  };
}

/** Opens a file, and then checks the real path of what was opened. */
export async function pin(file: string, check: PinnedFiles['check']) {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const handle = await open(realPath(file), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    throw ioError(error, file);
  });
  try {
    const opened = openedPath(handle.fd, file);
    if (opened === null) throw new InputUnsteady('input-changed', `${file} changed while it was opened; try again`);
    await check([opened]);
    return { handle, opened };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** An error of a reader, with the names of files in place of the paths of copies or links. */
export function withNames(error: unknown, names: ReadonlyMap<string, string>): unknown {
  if (!(error instanceof CsvError)) return error;
  let { message } = error;
  for (const [path, name] of names) message = message.replaceAll(path, name);
  if (message === error.message) return error;
  return error instanceof InputUnsteady
    ? new InputUnsteady(error.errorCode, message)
    : new CsvError(error.errorCode, message, error.line, error.column);
}
