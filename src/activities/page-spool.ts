import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HeldPage, RawPage } from '../core/event-warehouse.js';

/** Bytes that are kept in memory: what is little never sees a disk. */
const KEPT = 4 * 1_048_576;

/** A page that is held, and when it is. */
export interface Spooled {
  readonly page: HeldPage;
  /** Resolves when it takes no memory any more. Rejects where it can't be written, as its `read` does then. */
  readonly written: Promise<void>;
}

/** Pages on their way to a load: the first few in memory, the others in a scratch file that ends with this process. */
export class PageSpool {
  readonly #dir: string;
  #file: Promise<FileHandle> | null = null;
  #kept = 0;
  #size = 0;
  /** Filled anew by each page that is read: they are many, and a buffer of its own for each would be more than all the rest. */
  #buffer = Buffer.alloc(0);

  constructor(dir: string) {
    this.#dir = dir;
  }

  hold({ page, events }: RawPage): Spooled {
    const size = events.length;
    if (this.#kept + size <= KEPT) {
      this.#kept += size;
      return { page: { page, size, read: async () => events }, written: Promise.resolve() };
    }
    const at = this.#size;
    this.#size += size;
    this.#file ??= openUnnamed(this.#dir);
    const written = this.#file.then((file) => writeAll(file, events, at));
    written.catch(() => undefined);
    const read = async () => {
      await written;
      if (this.#buffer.length < size) this.#buffer = Buffer.allocUnsafeSlow(2 * size);
      return readAll(await (this.#file as Promise<FileHandle>), this.#buffer.subarray(0, size), at);
    };
    return { page: { page, size, read }, written };
  }

  /** Nobody reads of it any more. */
  async close(): Promise<void> {
    await (await this.#file?.catch(() => null))?.close();
  }
}

/** A file without a name goes with its last handle, however the process ends. */
async function openUnnamed(dir: string): Promise<FileHandle> {
  const path = join(dir, `pages-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  // Windows keeps the name until the file is closed, which is too late to be waited for here.
  await rm(path, { force: true }).catch(() => undefined);
  return file;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }
}

async function readAll(file: FileHandle, bytes: Buffer, at: number): Promise<Uint8Array> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, at + done);
    if (bytesRead === 0) throw new Error('the scratch file of event pages is shorter than it was written');
    done += bytesRead;
  }
  return bytes;
}
