import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder } from './make-folder.js';
import { isAt, LockBusy, native } from './process-lock.js';
import { withPath } from './write-durably.js';

const POLL_MS = 2;
const WAIT_MS = 10_000;

/**
 * A small text in a file (mode 0600) that processes of a machine change in turn, many times a second. It is written in place and not synced,
 * because a rename waits for the disk. So a kill or a power cut during a write may damage the text.
 */
export class LockedText {
  readonly #path: string;
  #fd: number | null = null;

  /** Opens the file, and makes it if it is missing. Throws the system's error. */
  constructor(path: string) {
    this.#path = path;
    this.#open();
  }

  /**
   * Calls `work` with the text while no other process does. Writes the text that `work` returns beside its result; null: none. One call at a
   * time in a process. Throws {@link LockBusy} after 10 seconds, and the system's error if the file cannot be written.
   */
  async change<T>(work: (text: string) => readonly [result: T, text: string | null], signal?: AbortSignal): Promise<T> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const fd = this.#open();
      if (native().tryLock(fd, 0, 1)) {
        try {
          return changeNow(fd, work);
        } catch (error) {
          throw withPath(error, this.#path);
        } finally {
          native().unlock(fd, 0, 1);
        }
      }
      if (performance.now() > until)
        throw new LockBusy(`${this.#path} is still locked by another process after ${WAIT_MS / 1000} s.`, null);
      await delay(POLL_MS, undefined, { signal });
    }
  }

  /** The file, which a person may have removed since the last change. */
  #open(): number {
    if (this.#fd !== null && isAt(this.#path, this.#fd)) return this.#fd;
    this.close();
    makeFolder(dirname(this.#path));
    const { O_RDWR, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    this.#fd = openSync(this.#path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    return this.#fd;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

function changeNow<T>(fd: number, work: (text: string) => readonly [result: T, text: string | null]): T {
  const before = Buffer.alloc(fstatSync(fd).size);
  readSync(fd, before, 0, before.length, 0);
  const [result, text] = work(before.toString());
  if (text === null) return result;
  // Spaces replace the rest of a longer text, because a file that gets shorter changes the tables of the disk.
  const after = Buffer.alloc(Math.max(before.length, Buffer.byteLength(text)), ' ');
  after.write(text);
  writeSync(fd, after, 0, after.length, 0);
  return result;
}
