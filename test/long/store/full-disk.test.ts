import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';

const here = dirname(fileURLToPath(import.meta.url));

it('fault 46: a disk that is filled while requests are in flight has room for their answers, and for no further request', async () => {
  const dir = folderOfTest();
  // Runs the process on a small disk, which is unmounted when the process ends.
  const script = 'mount -t tmpfs -o size=16m tmpfs "$1" && exec "$2" "$3" "$1"';
  const args = ['-rm', 'sh', '-c', script, 'sh', dir, process.execPath, join(here, 'full-disk.mjs')];
  const { stdout } = await promisify(execFile)('unshare', args);
  expect(JSON.parse(stdout)).toEqual({
    lock: { code: 'ENOSPC', path: join(dir, 'held.lock'), named: true },
    failures: [],
    refused: expect.stringMatching(
      /no room for the answers of 2 request\(s\) in flight\. Nothing was sent\. Free \d MB/,
    ),
    kept: 6,
    after: 'bought',
  });
});
