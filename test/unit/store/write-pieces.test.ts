import type { FileHandle } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { writeAll } from '../../../src/store/file/segment-writer.js';

/** A file of a system that writes at most a few bytes in one call. */
function slowFile(most: number) {
  const content = Buffer.alloc(32, '.');
  let isSynced = false;
  const handle = {
    async writev(pieces: readonly Buffer[], position: number) {
      const data = Buffer.concat(pieces).subarray(0, most);
      data.copy(content, position);
      isSynced = false;
      return { bytesWritten: data.length };
    },
    async datasync() {
      isSynced = true;
    },
  } as unknown as FileHandle;
  return { handle, content: () => content.toString(), isSynced: () => isSynced };
}

it.each([1, 2, 3, 5, 7, 100])('pieces are written whole by a system that writes %i bytes in one call', async (most) => {
  const file = slowFile(most);
  const pieces = ['ab', '', 'cde', 'fghijk'].map((text) => Buffer.from(text));
  await writeAll(file.handle, pieces, 3, '/a');
  expect(file.content().replace(/\.+$/, '')).toBe('...abcdefghijk');
  expect(file.isSynced()).toBe(true);
});
