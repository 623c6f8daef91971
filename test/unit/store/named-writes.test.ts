import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import { writeNamed, writePieces } from '../../../src/files/write-durably.js';
import { folderOfTest } from '../../support/files/folders.js';

// The device /dev/full stands for a full disk.
it.skipIf(process.platform !== 'linux')('a write to a full disk names its file', async () => {
  const pieces = writePieces('/dev/full', (write) => write('x'.repeat(100_000)));
  const error = await pieces.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'ENOSPC', path: '/dev/full' });
  expect(failureOf(error).message).toBe('The disk is full: /dev/full.');
  expect(() => writeNamed('/dev/full', 'x', { flag: 'a' })).toThrow(
    expect.objectContaining({ code: 'ENOSPC', path: '/dev/full', message: expect.stringContaining("'/dev/full'") }),
  );
});

it('a file is written piece by piece, and an error of its source is passed on', async () => {
  const dir = folderOfTest();
  const path = join(dir, 'pieces');
  await writePieces(path, async (write) => {
    for (let piece = 0; piece < 100; piece++) await write('x'.repeat(10_000));
  });
  expect(readFileSync(path, 'utf8')).toHaveLength(1_000_000);
  const broken = writePieces(path, async () => {
    throw new Error('no more pieces');
  });
  await expect(broken).rejects.toThrow('no more pieces');
});
