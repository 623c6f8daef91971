import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { parquetRows, runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { startPostgres } from '../../support/postgres-server.mjs';

const program = fileURLToPath(new URL('../../support/warehouse/exporter.mjs', import.meta.url));
const dir = folderOfFile();
const ROWS = 3000;
const EXPORTS = 3;
const server = ofFile(startPostgres);
const addresses: Record<'DuckDB' | 'PostgreSQL', string> = { DuckDB: join(dir, 'w.duckdb'), PostgreSQL: '' };
let made = 0;

beforeAll(async () => {
  addresses.PostgreSQL = await server.database();
  const lines = Array.from({ length: ROWS }, (_, index) => `company ${index},https://a.com/${index}\n`);
  const staged = await stageText(dir, `name,url\n${lines.join('')}`, { rowsPerSlice: 1500 });
  const warehouses = createWarehouses();
  const service = new Service((url) => ({ result: { title: url, text: 'text '.repeat(100) } }));
  for (const address of Object.values(addresses)) await runJob(dir, warehouses.open(address).rows, staged, service);
  await warehouses.close();
});

function exporter(address: string, kind: string, target: string) {
  return spawn(process.execPath, [program, address, 'brands-1', kind, target], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Puts files of a person beside the target; returns a function that reads them. */
function neighbours(target: string) {
  const folder = join(dir, `at-once-${++made}`);
  mkdirSync(folder);
  const path = join(folder, target);
  for (const end of ['part', 'tmp', 'rows.part', 'source.part']) writeFileSync(`${path}.${end}`, end);
  mkdirSync(`${path}.old`);
  writeFileSync(join(`${path}.old`, 'part-00000.parquet'), 'mine');
  symlinkSync(`${path}.part`, join(folder, 'link'));
  const read = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => {
        const stats = lstatSync(join(folder, name));
        if (stats.isSymbolicLink()) return [name, readlinkSync(join(folder, name))];
        return [name, stats.isFile() ? readFileSync(join(folder, name), 'utf8') : 'folder'];
      });
  return { folder, path, read, before: read() };
}

async function namesIn(kind: string, path: string): Promise<unknown[]> {
  if (kind === 'parquet') return (await parquetRows(path)).map((row) => row.name);
  const [header, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(header).toMatch(/^name,url,status/);
  return lines.map((line) => line.split(',')[0]);
}

const names = Array.from({ length: ROWS }, (_, index) => `company ${index}`);

describe.each(['DuckDB', 'PostgreSQL'] as const)('exports from %s', (database) => {
  it.each([
    ['csv', 'out.csv'],
    ['parquet', 'out'],
  ])(
    'to one %s target by three processes at once are all whole, and other files beside it are unchanged',
    async (kind, name) => {
      const { path, read, before } = neighbours(name);
      const said = await Promise.all(
        Array.from({ length: EXPORTS }, () => text(exporter(addresses[database], kind, path).stdout)),
      );
      expect(said).toEqual(Array.from({ length: EXPORTS }, () => `${ROWS}\n`));
      expect(await namesIn(kind, path)).toEqual(names);
      expect(read().filter(([entry]) => !entry?.match(/^out(\.csv)?($|\/)/))).toEqual(before);
    },
  );

  it.each([
    ['csv', 'out.csv'],
    ['parquet', 'out'],
  ])('to %s that are killed keep the old target whole, and the next one cleans up', async (kind, name) => {
    const { folder, path, read, before } = neighbours(name);
    await once(exporter(addresses[database], kind, path), 'exit');
    const old = read().filter(([entry]) => entry?.match(/^out(\.csv)?($|\/)/));
    expect(old.length).toBeGreaterThan(0);
    const process = exporter(addresses[database], kind, path);
    while (!readdirSync(folder).some((entry) => /^\.searchflow-draft-.*[0-9a-f]{16}$/.test(entry)))
      await new Promise(setImmediate);
    process.kill('SIGKILL');
    await once(process, 'exit');
    expect(read().filter(([entry]) => entry?.match(/^out(\.csv)?($|\/)/))).toEqual(old);
    expect(readdirSync(folder).filter((entry) => entry.startsWith('.searchflow-'))).not.toEqual([]);
    expect(await text(exporter(addresses[database], kind, path).stdout)).toBe(`${ROWS}\n`);
    expect(read().filter(([entry]) => !entry?.match(/^out(\.csv)?($|\/)/))).toEqual(before);
  });
});
