import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { publishFrom as publish, whole } from '../../support/publish/publish-from.js';
import { manifestIn, publishedRows } from '../../support/publish/read-target.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';

const dir = folderOfFile();

let made = 0;
const newFolder = () => join(dir, `target-${++made}`);
const names = async (folder: string) => {
  const rows = await publishedRows<{ name: string; text: string }>(folder, 'brands', 'name, text');
  return rows?.map(({ name, text }) => `${name}: ${text}`).sort() ?? null;
};

/** Loads rows with these names, whose answers have this text. */
async function load(address: string, rows: readonly string[], text: string) {
  const warehouse = openWarehouse(address);
  const csv = `name,url\n${rows.map((name) => `${name},https://${name}.com/${text}\n`).join('')}`;
  await runJob(dir, warehouse.rows, await stageText(dir, csv), new Service(() => ({ result: { text, score: 0.5 } })));
  await warehouse.close();
}

/** All files below a folder, as paths. */
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
const named = (folder: string) =>
  ['manifest.json', ...(manifestIn(folder)?.tables.flatMap(({ files }) => files.map(({ path }) => path)) ?? [])].sort();

describe.each(['DuckDB', 'PostgreSQL'] as const)('a job in %s', (database) => {
  let address = '';
  beforeAll(async () => {
    address =
      database === 'DuckDB' ? placeEmptyWarehouse(join(dir, 'modes.duckdb')) : await sharedPostgres().database();
  });

  it('is published to a folder with a manifest of files, rows, types, hashes and run', async () => {
    await load(address, ['a', 'b'], 'one');
    const to = newFolder();
    const done = await publish(address, { to });
    expect(done).toMatchObject({ changed: true, mode: 'replace', tables: [{ name: 'brands', rows: 2, total: 2 }] });
    expect(await names(to)).toEqual(['a: one', 'b: one']);
    expect(filesIn(to)).toEqual(named(to));
    expect(manifestIn(to)).toMatchObject({
      format: 'searchflow-publish',
      version: 1,
      publish: { id: done.id, mode: 'replace', run: done.run },
      tables: [
        {
          ...{ name: 'brands', source: 'job brands-1', rows: 2, partitionBy: null, key: [] },
          columns: expect.arrayContaining([
            { name: 'name', type: 'VARCHAR' },
            { name: 'cost_dollars', type: 'DECIMAL(18,6)' },
            { name: 'fetched_at', type: 'TIMESTAMP' },
            { name: 'row_number', type: 'BIGINT' },
          ]),
          files: [{ path: `brands/${done.id}-00000.parquet`, rows: 2, partition: null, publish: done.id }],
        },
      ],
    });
  });

  it('is partitioned by day: a second publish of the day replaces this day only', async () => {
    const to = newFolder();
    await load(address, ['a'], 'one');
    await publish(address, { to, partition: 'day' });
    await load(address, ['b'], 'two');
    const { at } = await publish(address, { to, partition: 'day' });
    expect(await names(to)).toEqual(['b: two']);
    expect(manifestIn(to)?.tables[0]?.files).toEqual([
      expect.objectContaining({ partition: `day=${at.slice(0, 10)}` }),
    ]);
    await expect(publish(address, { to, mode: 'append' })).rejects.toThrow(
      'is partitioned by day: pass --partition day',
    );
    await publish(address, { to, mode: 'append', partition: 'day' });
    expect(await names(to)).toEqual(['b: two', 'b: two']);
  });

  it('is not appended twice for one recorded run', async () => {
    const to = newFolder();
    await load(address, ['a'], 'one');
    const warehouse = openWarehouse(address);
    const counts = { rows: 1, success: 1, error: 0, invalid: 0, missing: 0, vanished: 0, requests: 1, costMicros: 1 };
    const run = { job: 'brands-1', run: 'run-1', scheduled: false, generation: 'g', phase: 'done', ...counts } as const;
    await warehouse.rows.recordRun({ ...run, startedAt: 1, endedAt: 2, reason: null, message: null });
    await warehouse.close();
    expect(await publish(address, { to, mode: 'append' })).toMatchObject({ run: 'run-1', changed: true });
    expect(await publish(address, { to, mode: 'append' })).toMatchObject({ run: 'run-1', changed: false });
    expect(await names(to)).toEqual(['a: one']);
    await load(address, ['a'], 'two');
    expect(await publish(address, { to, mode: 'append' })).toMatchObject({ changed: true });
    expect(await names(to)).toEqual(['a: one', 'a: two']);
  });
});

describe('a folder', () => {
  const address = join(dir, 'refusals.duckdb');
  beforeAll(async () => {
    placeEmptyWarehouse(address);
    await load(address, ['a', 'b'], 'one');
  });

  it('with files of others and no manifest is refused, and files of others are never removed', async () => {
    const to = newFolder();
    mkdirSync(join(to, 'brands'), { recursive: true });
    writeFileSync(join(to, 'brands', 'mine.parquet'), 'mine');
    await expect(publish(address, { to })).rejects.toThrow(
      `${to} has files that are not of a publish (brands/mine.parquet) and no manifest.json: name an empty or a new folder`,
    );
    rmSync(join(to, 'brands', 'mine.parquet'));
    await publish(address, { to });
    writeFileSync(join(to, 'brands', 'mine.parquet'), 'mine');
    for (const _ of [1, 2]) await publish(address, { to });
    expect(readFileSync(join(to, 'brands', 'mine.parquet'), 'utf8')).toBe('mine');
  });

  it.each([
    [{ mode: 'merge', key: ['nam'] }, '--key: brands has no column nam. Its columns: name, url, status'],
    [{ mode: 'merge', key: ['status'] }, '--key: 1 values of status are in more than one row of brands'],
    [{ mode: 'merge', key: ['error_tag'] }, '--key: 2 rows of brands have no error_tag'],
    [{ subject: { job: 'other-1' } }, 'There is no job other-1 in'],
  ] as const)('is not changed by %j', async (change, sentence) => {
    const to = newFolder();
    await publish(address, { to });
    const before = readFileSync(join(to, 'manifest.json'), 'utf8');
    await expect(publish(address, { to, ...change })).rejects.toThrow(sentence);
    expect(readFileSync(join(to, 'manifest.json'), 'utf8')).toBe(before);
    expect(filesIn(to)).toEqual(named(to));
  });

  it('whose manifest is of another program or version, or names a missing file, is refused', async () => {
    const to = newFolder();
    await publish(address, { to });
    const manifest = join(to, 'manifest.json');
    const text = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, '{}');
    await expect(publish(address, { to })).rejects.toThrow('is not one of searchflow: name another target');
    writeFileSync(manifest, text.replace('"version": 1', '"version": 2'));
    await expect(publish(address, { to })).rejects.toThrow('newer version of searchflow');
    writeFileSync(manifest, text.replace('brands/', '../brands/'));
    await expect(publish(address, { to })).rejects.toThrow('is damaged: restore it');
    writeFileSync(manifest, text);
    const [file = ''] = named(to);
    rmSync(join(to, file));
    await expect(publish(address, { to, mode: 'append' })).rejects.toThrow(`${file} is missing: restore it`);
    await publish(address, { to });
    expect(await names(to)).toEqual(['a: one', 'b: one']);
  });
});

describe('a publish to a folder that is killed', () => {
  const address = join(dir, 'killed.duckdb');
  const program = fileURLToPath(new URL('../../support/publish/publisher.mjs', import.meta.url));
  const run = (request: object, at: number) => {
    const { stdout, signal } = spawnSync(process.execPath, [program, address, JSON.stringify(request), String(at)]);
    return { signal, said: stdout.toString() };
  };

  it('at any step leaves the old state or the new one, and the next publish completes it and removes what is left', async () => {
    placeEmptyWarehouse(address);
    await load(address, ['a', 'b', 'c'], 'one');
    const base = newFolder();
    await publish(address, { to: base });
    const old = await names(base);
    await load(address, ['b', 'd'], 'two');
    const request = (to: string) => ({ ...whole, to, mode: 'merge', key: ['name'], partition: null }) as const;
    const copy = () => {
      const to = newFolder();
      cpSync(base, to, { recursive: true });
      return to;
    };
    const done = copy();
    const { steps } = JSON.parse(run(request(done), 0).said) as { steps: number };
    const now = await names(done);
    expect(now).toEqual(['a: one', 'b: two', 'c: one', 'd: two']);
    const seen = { old: 0, new: 0 };
    // The end of a publish has the most states; a process that is killed after the last step has ended by itself.
    const points = Array.from({ length: steps - 1 }, (_, index) => index + 1);
    for (const at of points.filter((point) => point % 14 === 1 || (point > steps - 16 && point % 2 === 0))) {
      const to = copy();
      expect([at, run(request(to), at).signal]).toEqual([at, 'SIGKILL']);
      const found = await names(to);
      expect([old, now]).toContainEqual(found);
      seen[JSON.stringify(found) === JSON.stringify(now) ? 'new' : 'old']++;
      await publish(address, request(to));
      expect(await names(to)).toEqual(now);
      rmSync(to, { recursive: true });
    }
    expect(seen).toEqual({ old: expect.any(Number), new: expect.any(Number) });
    expect(Math.min(seen.old, seen.new)).toBeGreaterThan(1);
    expect(readdirSync(dir).filter((name) => name.startsWith('.searchflow'))).toEqual([]);
  });
});
