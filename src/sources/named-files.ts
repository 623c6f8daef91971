import { constants } from 'node:fs';
import { type FileHandle, open, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFolder } from '../files/make-folder.js';
import { openedPath, pathOfHandle } from '../files/open-path.js';
import { realPath } from '../files/same-file.js';
import { CsvError, InputUnsteady, ioError, type RowReader } from '../rows/index.js';
import type { SourceRequest } from './source-request.js';

/** Copies of files, or links to open files: their paths with the names of the files for messages. */
export interface NamedFiles {
  readonly names: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/** Returns a reader of copies or links, which `prepare` makes. Messages show the names of the files. */
export function namedReader(
  prepare: () => Promise<NamedFiles>,
  readerOf: (paths: readonly string[]) => RowReader,
): RowReader {
  return {
    async open(signal) {
      const { names, close } = await prepare();
      try {
        const table = await readerOf([...names.keys()]).open(signal);
        return {
          ...table,
          async *batches() {
            try {
              yield* table.batches();
            } catch (error) {
              throw withNames(error, names);
            }
          },
          close: () => table.close().finally(close),
        };
      } catch (error) {
        await close();
        throw withNames(error, names);
      }
    },
  };
}

/** An error of a reader, with the names of files in place of the paths of copies or links. */
function withNames(error: unknown, names: ReadonlyMap<string, string>): unknown {
  if (!(error instanceof CsvError)) return error;
  let { message } = error;
  for (const [path, name] of names) message = message.replaceAll(path, name);
  if (message === error.message) return error;
  return error instanceof InputUnsteady
    ? new InputUnsteady(error.errorCode, message)
    : new CsvError(error.errorCode, message, error.line, error.column);
}

type Check = NonNullable<SourceRequest['checkFiles']>;

/**
 * Opens files first, checks them then, and returns links to what was opened: a name that leads to another file in the meantime changes
 * nothing.
 */
export async function pinFiles(files: readonly string[], scratch: string, check: Check): Promise<NamedFiles> {
  const handles: FileHandle[] = [];
  const names = new Map<string, string>();
  const close = async () => void (await Promise.all(handles.splice(0).map((handle) => handle.close())));
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
    return { names, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens a file, and then checks the real path of what was opened. */
export async function pin(file: string, check: Check) {
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
