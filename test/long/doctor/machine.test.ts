import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';

const main = fileURLToPath(new URL('../../../dist/bin/searchflow.js', import.meta.url));

/** What `doctor` reports of one check, in a shell that first runs `prepare` in its own namespace of mounts, with the folder as `$1`. */
async function reported(check: string, prepare: string) {
  const dir = folderOfTest();
  mkdirSync(join(dir, 'state'));
  chmodSync(join(dir, 'state'), 0o700);
  const script = `${prepare} && cd "$1" && exec "$2" "$3" doctor --json`;
  const { PATH = '', HOME = dir } = process.env;
  const env = { PATH, HOME, SEARCHFLOW_STATE_DIR: join(dir, 'state'), XDG_STATE_HOME: dir };
  const args = ['-rm', 'sh', '-c', script, 'sh', dir, process.execPath, main];
  // The exit code is 1, because there is a problem.
  const { stdout: out } = await promisify(execFile)('unshare', args, { env }).catch(
    (error: { readonly stdout: string }) => error,
  );
  const { checks } = JSON.parse(out) as { readonly checks: readonly { readonly check: string }[] };
  return checks.filter((one) => one.check === check);
}

it('a full disk, a small disk and a disk that only reads are problems', async () => {
  const full =
    'mount -t tmpfs -o size=64k,mode=0700 tmpfs "$1/state" && { head -c 65536 /dev/zero > "$1/state/filler" || true; }';
  const isFull = expect.objectContaining({ ok: false, mend: expect.stringMatching(/^Free space/) });
  expect(await reported('state-folder', full)).toEqual([isFull]);
  expect(await reported('disk', 'mount -t tmpfs -o size=16m,mode=0700 tmpfs "$1/state"')).toEqual([
    expect.objectContaining({ ok: false, why: expect.stringMatching(/has 1\d MiB free/) }),
    expect.objectContaining({ ok: true }),
  ]);
  expect(await reported('state-folder', 'mount -t tmpfs -o ro,mode=0700 tmpfs "$1/state"')).toEqual([
    expect.objectContaining({ ok: false, why: expect.stringMatching(/read-only/) }),
  ]);
});
