import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { publishFrom, whole } from '../../support/publish/publish-from.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';
import { pgResult } from '../../support/warehouse/pg-query.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();

const address = join(dir, 'warehouse.duckdb');
let made = 0;
const service = (text: string) => new Service(() => ({ result: { text, title: 'a\0b', author: '' } }));

async function load(rows: readonly string[], text: string, to = address) {
  const warehouse = openWarehouse(to);
  const csv = `name,url\n${rows.map((name) => `"${name.replaceAll('"', '""')}",https://${name.charCodeAt(0)}.com/${text}\n`).join('')}`;
  await runJob(dir, warehouse.rows, await stageText(dir, csv), service(text));
  await warehouse.close();
}

const publish = (request: Parameters<typeof publishFrom>[1], from = address) => publishFrom(from, request);

interface Target {
  /** A new target. */
  open(): Promise<string>;
  query(to: string, sql: string): Promise<readonly Record<string, unknown>[]>;
  copy(to: string): Promise<string>;
}
const objects = async (url: string, sql: string) => {
  const { names, rows } = await pgResult(url, sql);
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
};
const targets: Record<'a DuckDB file' | 'PostgreSQL', Target> = {
  'a DuckDB file': {
    open: async () => join(dir, `target-${++made}.duckdb`),
    query: (to, sql) => readDuckDb(to, sql),
    copy: async (to) => {
      const file = join(dir, `target-${++made}.duckdb`);
      copyFileSync(to, file);
      return file;
    },
  },
  PostgreSQL: {
    open: async () => `${await sharedPostgres().database()}?schema=lake%20"1"`,
    query: objects,
    copy: async (to) => {
      // A schema of the same database is as good as a copy of the database.
      const url = new URL(to);
      const schema = `copy_${++made}`;
      await objects(
        to,
        `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.brands AS TABLE brands;
         CREATE TABLE ${schema}.searchflow_publishes AS TABLE searchflow_publishes`,
      );
      url.searchParams.set('schema', schema);
      return url.href;
    },
  },
};

describe.each(Object.entries(targets))('a job that is published to %s', (_name, { open, query, copy }) => {
  const names = async (to: string) =>
    (await query(to, 'SELECT name, text FROM brands')).map(({ name, text }) => `${name}: ${text}`).sort();
  beforeAll(() => {
    placeEmptyWarehouse(address);
  });

  it('keeps types, empty texts and NULL, and the time of the answer', async () => {
    const to = await open();
    await load(['a'], 'one');
    await publish({ to });
    expect(
      await query(
        to,
        `SELECT author = '' AS empty, error_tag IS NULL AS none, length(title) >= 3 AS title, row_number = 1 AS number,
           CAST(cost_dollars AS text) AS cost, CAST(extract(epoch FROM fetched_at) AS text) LIKE '1795%' AS time FROM brands`,
      ),
    ).toEqual([{ empty: true, none: true, title: true, number: true, cost: '0.001000', time: true }]);
  });

  it('is refused over tables of others, other sources and other columns, and nothing changes', async () => {
    const to = await open();
    await load(['a'], 'one');
    await publish({ to });
    const other = placeEmptyWarehouse(join(dir, `other-${++made}.duckdb`));
    const warehouse = openWarehouse(other);
    await runJob(dir, warehouse.rows, await stageText(dir, 'label,url\na,https://a.com/\n'), new Service());
    const stranger = await stageText(dir, 'name,url\na,https://a.com/\n', { job: 'brands-2' });
    await runJob(dir, warehouse.rows, stranger, new Service());
    await warehouse.close();
    await expect(publish({ to, mode: 'append' }, other)).rejects.toThrow('(name is gone, label is new)');
    await expect(publish({ to, mode: 'merge', key: ['nam'] })).rejects.toThrow('--key: brands has no column nam');
    await expect(publish({ to, partition: 'day' })).rejects.toThrow('--partition is only for targets with files');
    expect(await names(to)).toEqual(['a: one']);
    await publish({ to }, other);
    expect(await query(to, 'SELECT label FROM brands')).toEqual([{ label: 'a' }]);
  });

  it('shows the old rows or the new ones after a kill at any step, and the next publish completes it', async () => {
    const program = fileURLToPath(new URL('../../support/publish/publisher.mjs', import.meta.url));
    const base = await open();
    await load(['a', 'b'], 'one');
    await publish({ to: base });
    const old = await names(base);
    await load(['b', 'c'], 'two');
    const request = (to: string) => ({ ...whole, to, mode: 'merge', key: ['name'] }) as const;
    const run = (to: string, at: number) =>
      spawnSync(process.execPath, [program, address, JSON.stringify(request(to)), String(at)]);
    const done = await copy(base);
    const { steps } = JSON.parse(run(done, 0).stdout.toString()) as { steps: number };
    const now = await names(done);
    expect(now).toEqual(['a: one', 'b: two', 'c: two']);
    const points = Array.from({ length: steps - 1 }, (_, index) => index + 1);
    for (const at of points.filter((point) => point > steps - 34 && point % 5 === 0)) {
      const to = await copy(base);
      expect([at, run(to, at).signal]).toEqual([at, 'SIGKILL']);
      expect([old, now]).toContainEqual(await names(to));
      await publish(request(to));
      expect(await names(to)).toEqual(now);
    }
  });
});
