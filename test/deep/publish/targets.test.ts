import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { publishFrom, whole } from '../../support/publish/publish-from.js';
import { pgResult } from '../../support/warehouse/pg-query.js';

// Python reads the targets, moto stands in for S3, and the extensions of DuckDB are packages of Python, too.
const packages = ['duckdb==1.5.5', 'pyarrow', 'pandas', 'moto[server]'];
const extensionPackages = ['duckdb-extension-httpfs==1.5.5', 'duckdb-extension-ducklake==1.5.5'];
const dir = folderOfFile();
const python = join(dir, 'venv', 'bin', 'python');
const extensions = join(dir, 'extensions');
const support = (name: string) => fileURLToPath(new URL(`../../support/publish/${name}`, import.meta.url));
let server: ReturnType<typeof spawn> | null = null;
let endpoint = '';
let database = '';

beforeAll(async () => {
  execFileSync('python3', ['-m', 'venv', join(dir, 'venv')]);
  execFileSync(python, ['-m', 'pip', 'install', '-q', ...packages, ...extensionPackages]);
  mkdirSync(extensions);
  for (const file of readdirSync(join(dir, 'venv'), { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.duckdb_extension'))
      copyFileSync(join(dir, 'venv', file), join(extensions, file.split('/').at(-1) as string));
  server = spawn(join(dir, 'venv', 'bin', 'moto_server'), ['-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  endpoint = await new Promise<string>((resolve, reject) => {
    server?.once('exit', () => reject(new Error('moto has ended')));
    server?.stderr?.on('data', (said: Buffer) => {
      const found = /http:\/\/(127\.0\.0\.1:\d+)/.exec(said.toString());
      if (found) resolve(found[1] as string);
    });
  });
  await fetch(`http://${endpoint}/lake`, { method: 'PUT' });
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'us-east-1' });
  database = await sharedPostgres().database();
  await load('old.duckdb', ['a', 'b'], 'one');
  await load('new.duckdb', ['b', 'c'], 'two');
}, 600_000);
afterAll(() => {
  server?.kill();
}, 600_000);

async function load(file: string, rows: readonly string[], text: string) {
  const warehouse = openWarehouse(join(dir, file));
  const csv = `name,url\n${rows.map((name) => `${name},https://${name}.com/\n`).join('')}`;
  await runJob(dir, warehouse.rows, await stageText(dir, csv), new Service(() => ({ result: { text } })));
  await warehouse.close();
}

const publish = (file: string, request: Parameters<typeof publishFrom>[1]) =>
  publishFrom(join(dir, file), request, { extensions });

/** The rows of the target: Python reads files and a DuckLake, and SQL a database. */
async function read(to: string): Promise<string[]> {
  if (to !== database)
    return JSON.parse(
      execFileSync(python, [support('read_target.py'), to, 'brands', extensions]).toString(),
    ) as string[];
  return (await pgResult(`${to}?schema=public`, 'SELECT name, text FROM brands')).rows
    .map(([name, text]) => `${name}: ${text}`)
    .sort();
}

describe.each([
  ['a folder', () => join(dir, 'lake')],
  ['S3', () => `s3://lake/brands?endpoint=${endpoint}&url_style=path&use_ssl=false`],
  ['a DuckLake', () => `ducklake:${join(dir, 'catalog.ducklake')}`],
  ['PostgreSQL', () => database],
])('a job that is published to %s', (_name, target) => {
  it('is the old state or the new one for its readers after a kill at any step, and the next publish completes it', async () => {
    const to = target();
    const [replace, merge] = [
      { ...whole, to },
      { ...whole, to, mode: 'merge', key: ['name'] },
    ] as const;
    const run = (at: number) => {
      const args = [support('publisher.mjs'), join(dir, 'new.duckdb'), JSON.stringify(merge), String(at), extensions];
      return spawnSync(process.execPath, args);
    };
    await publish('old.duckdb', replace);
    const { steps } = JSON.parse(run(0).stdout.toString()) as { steps: number };
    expect(await read(to)).toEqual(['a: one', 'b: two', 'c: two']);
    const seen = new Set<string>();
    for (let at = 1; at < steps; at++) {
      await publish('old.duckdb', replace);
      expect([at, run(at).signal]).toEqual([at, 'SIGKILL']);
      const found = (await read(to)).join();
      expect(['a: one,b: one', 'a: one,b: two,c: two']).toContain(found);
      seen.add(found);
      await publish('new.duckdb', merge);
      // Starting Python takes seconds.
      if (at % 10 === 0) expect([at, await read(to)]).toEqual([at, ['a: one', 'b: two', 'c: two']]);
    }
    expect(seen.size).toBe(2);
  });
});

it('a DuckLake whose catalog places data elsewhere is refused, and nothing is written there', async () => {
  const catalog = join(dir, 'moved', 'catalog.ducklake');
  const elsewhere = join(dir, 'elsewhere');
  mkdirSync(join(dir, 'moved'));
  mkdirSync(elsewhere);
  const script = [
    'import duckdb',
    `duckdb.execute("LOAD '${extensions}/ducklake.duckdb_extension'")`,
    `duckdb.execute("ATTACH 'ducklake:${catalog}' AS lake (DATA_PATH '${elsewhere}/')")`,
    'duckdb.execute("DETACH lake")',
  ];
  execFileSync(python, ['-c', script.join('\n')]);
  await expect(publish('old.duckdb', { ...whole, to: `ducklake:${catalog}` })).rejects.toThrow(
    `The DuckLake ${catalog} has data outside of ${join(dir, 'moved')} (${elsewhere}/)`,
  );
  expect(readdirSync(elsewhere)).toEqual([]);
});

it('S3 that cannot be used is reported before anything is written', async () => {
  const query = `endpoint=${endpoint}&url_style=path&use_ssl=false`;
  const to = (address: string) => publish('old.duckdb', { ...whole, to: address });
  await expect(to(`s3://none/brands?${query}`)).rejects.toThrow('The bucket none of s3://none/brands was not found');
  await expect(to('s3://lake/x?endpoint=127.0.0.1:1&use_ssl=false')).rejects.toThrow('S3 cannot be reached');
  await expect(to('s3://lake/x?secret=canary')).rejects.toThrow('has the parameter secret');
});
