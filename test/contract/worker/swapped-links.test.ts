import { spawn } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openReader } from '../../../src/sources/open-reader.js';
import { Allowlist, allowedBy } from '../../../src/worker/config/allowlist.js';
import { folderOfFile } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const open = join(dir, 'open');
const at = (...names: string[]) => join(open, ...names);
const closed = (...names: string[]) => join(dir, 'closed', ...names);
const allowlist = new Allowlist(
  { paths: [open], hosts: [], stateDir: join(dir, 'state'), warehouse: null },
  { allowed: async () => [] },
);

let end: () => void = () => undefined;
beforeAll(async () => {
  for (const folder of [at('inner'), closed()]) {
    mkdirSync(folder, { recursive: true });
    const text = folder === closed() ? 'CANARY' : 'https://good.example';
    writeFileSync(join(folder, 'a.csv'), `url\n${text}\n`);
    writeFileSync(join(folder, 'a.jsonl'), `{"url":"${text}"}\n`);
    const made = `CREATE TABLE rows AS SELECT '${text}' AS url`;
    await runInDuckDb(join(folder, 'a.duckdb'), made, `COPY rows TO '${join(folder, 'a.parquet')}'`);
  }
  writeFileSync(closed('old.csv'), 'untouched');
  const files = ['a.csv', 'a.jsonl', 'a.parquet'].map((name) => ({
    ...{ name: at(`last-${name}`), good: at('inner', name), bad: closed(name), hard: true },
  }));
  const links = [...files, { name: at('folder'), good: at('inner'), bad: closed(), hard: false }];
  for (const { name, good, hard } of links) hard ? linkSync(good, name) : symlinkSync(good, name);
  mkdirSync(at('real'));
  for (const name of ['a.csv', 'a.duckdb']) linkSync(at('inner', name), at('real', name));
  const swaps = [...links, { name: at('real'), good: null, bad: closed() }];
  const script = new URL('../../support/worker/link-swapper.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify(swaps)], { stdio: 'inherit' });
  end = () => void child.kill('SIGKILL');
});
afterAll(() => end());

/** The first cell that a workflow reads of this input; null if it is refused. */
async function read(input: string, how: { readonly table?: string } = {}): Promise<string | null> {
  const scratch = mkdtempSync(join(dir, 'scratch-'));
  const checkFiles = async (files: readonly string[]) => {
    for (const file of files) await allowlist.checkFile(file, input);
  };
  try {
    await allowlist.check({ input });
    const table = await openReader({
      input,
      stdin: Readable.from([]),
      delimiter: null,
      checkFiles,
      scratch,
      ...how,
    }).open();
    try {
      for await (const batch of table.batches()) for (const { cells } of batch) return cells[0] ?? '';
      return '';
    } finally {
      await table.close();
    }
  } catch (error) {
    expect(String(error)).not.toContain('CANARY');
    return null;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Time for the tries of one test; `SWAP_MS` sets more, such as for 10,000 tries. A slow machine gets more until one try succeeds. */
const SWAP_MS = Number(process.env.SWAP_MS || 500);
const MOST_MS = 60_000 + SWAP_MS;

async function tries(one: () => Promise<string | null>, good: string) {
  const seen: Record<string, number> = {};
  const begun = performance.now();
  const left = (ms: number) => performance.now() - begun < ms;
  while (left(SWAP_MS) || (!seen[good] && left(MOST_MS))) {
    const found = String(await one());
    seen[found] = (seen[found] ?? 0) + 1;
  }
  return seen;
}

const GOOD = 'https://good.example';
const linux = process.platform === 'linux';

it.runIf(linux).each([
  ['a CSV whose name', 'last-a.csv', {}],
  ['a CSV whose folder', 'folder/a.csv', {}],
  ['a CSV whose moved folder', 'real/a.csv', {}],
  ['JSON Lines whose name', 'last-a.jsonl', {}],
  ['a Parquet file whose name', 'last-a.parquet', {}],
  ['a Parquet file whose folder', 'folder/a.parquet', {}],
  ['a pattern whose folder', 'folder/*.csv', {}],
  ['a DuckDB file whose folder', 'folder/a.duckdb', { table: 'rows' }],
  ['a DuckDB file whose moved folder', 'real/a.duckdb', { table: 'rows' }],
] as const)('%s is swapped between check and use is never read outside of the paths', async (_, input, how) => {
  const seen = await tries(() => read(at(input), how), GOOD);
  expect(Object.keys(seen)).not.toContain('CANARY');
  expect(seen[GOOD]).toBeGreaterThan(0);
});

it('a link that took the place of a typed name is refused', async () => {
  const input = at('..', 'typed.csv');
  writeFileSync(input, 'url\n');
  const entered = allowedBy({ input });
  const typed = new Allowlist(
    { paths: [open], hosts: [], stateDir: join(dir, 'state'), warehouse: null },
    { allowed: async () => entered },
  );
  expect(await typed.whyRefused({ input })).toBeNull();
  rmSync(input);
  symlinkSync(closed('a.csv'), input);
  expect(await typed.whyRefused({ input })).toMatch(/PATHS/);
});
