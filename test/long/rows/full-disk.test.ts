import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { errorFixes } from '../../../src/core/errors/registry.js';
import { folderOfTest } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const main = fileURLToPath(new URL('../../../dist/bin/searchflow.js', import.meta.url));

it('a disk that is full while rows are staged is one sentence, from each kind of source, and leaves nothing on it', async () => {
  const dir = folderOfTest();
  const stateDir = join(dir, 'state');
  mkdirSync(stateDir);
  await runInDuckDb(
    join(dir, 'x.duckdb'),
    "CREATE TABLE rows AS SELECT i AS n, 'https://site-' || i || '.example/' || md5(i::VARCHAR) AS url FROM range(30000) t(i)",
    ...['x.csv', 'x.parquet', 'x.jsonl'].map((name) => `COPY rows TO '${join(dir, name)}'`),
  );
  const sort = 'SELECT url, repeat(md5(url), 100) AS filler FROM rows, range(4) ORDER BY filler DESC';
  const sources = {
    csv: ['x.csv'],
    parquet: ['x.parquet'],
    jsonl: ['x.jsonl'],
    table: ['x.duckdb', '--table', 'rows'],
    sort: ['x.duckdb', '--sql', sort, '--job', 'sort', '--key', 'url'],
  };
  for (const [name, source] of Object.entries(sources)) {
    // The command runs on a small disk, which is unmounted when it ends.
    const script =
      'mount -t tmpfs -o size=200k,mode=700 tmpfs "$0" && "$@"; code=$?; find "$0" -mindepth 1 -type f; exit $code';
    const command = [process.execPath, main, 'enrich', ...source, '--dry-run'];
    const run = promisify(execFile)('unshare', ['-rm', 'sh', '-c', script, stateDir, ...command], {
      cwd: dir,
      env: { PATH: process.env.PATH ?? '', SEARCHFLOW_STATE_DIR: stateDir, XDG_STATE_HOME: dir },
    });
    const { code, stderr, stdout } = await run.then(
      (done) => ({ code: 0, ...done }),
      (error: { readonly code: number; readonly stderr: string; readonly stdout: string }) => error,
    );
    expect([name, code, stderr, stdout]).toEqual([
      name,
      2,
      `The disk of ${stateDir} is full: free some space, then run the command again. Nothing was bought\ndisk-full: ${errorFixes['disk-full']}\n`,
      '',
    ]);
  }
});
