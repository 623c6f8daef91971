import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Sink, SinkRow } from '../../../src/core/rows/sink.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { sinkContract } from '../../suites/sink-contract.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { isLong } from '../../support/tier.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const example = (...path: string[]) => join(root, 'examples', 'sinks', ...path);
const folder = folderOfFile();

beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', example()], {
    stdio: ['ignore', 2, 2],
  });
}, 600_000);

type Made = Sink & { close(): Promise<void> };
const postgresSink = async (url: string): Promise<Made> =>
  (await import(example('lib', 'postgres-sink.js'))).postgresSink(url);

/** The rows of the tables of a PostgreSQL sink. */
const tableRows = async (url: string, table: string): Promise<SinkRow[]> =>
  (await pgQuery(url, `SELECT row FROM public.${table}`)).map(([row]) => row as SinkRow);

/** The rows of the objects of a sink of JSON lines. */
const lines = (dir: string, table: string): SinkRow[] =>
  (existsSync(join(dir, table)) ? readdirSync(join(dir, table)) : []).flatMap((name) =>
    readFileSync(join(dir, table, name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as SinkRow),
  );

describe('a sink of tables of a PostgreSQL database', () => {
  sinkContract(it, async () => {
    const url = await sharedPostgres().database('dw');
    const sink = await postgresSink(url);
    return { sink, rows: (table) => tableRows(url, table), close: () => sink.close() };
  });
});

describe('a sink of objects of JSON lines', () => {
  sinkContract(it, async () => {
    const { jsonLinesSink } = await import(example('lib', 'json-lines-sink.js'));
    const dir = mkdtempSync(join(folder, 'lines-'));
    return { sink: jsonLinesSink(dir), rows: async (table) => lines(dir, table) };
  });
});

it.runIf(isLong)('examples/sinks loads a job into each of its sinks', async () => {
  const sandbox = await startSandbox({ keys: ['key-of-the-example'], failureRate: 0 });
  const cwd = mkdtempSync(join(folder, 'run-'));
  const url = await sharedPostgres().database('dw');
  const names = Array.from({ length: 30 }, (_, nth) => `Brand ${nth}`);
  writeFileSync(
    join(cwd, 'brands.csv'),
    `name,source\n${names.map((name, nth) => `${name},https://b.example/${nth}\n`).join('')}`,
  );
  const env = {
    ...{ PATH: process.env.PATH, HOME: cwd, TEMPORAL_ADDRESS: inject('temporalAddress'), DATABASE_URL: url },
    ...{ SEARCHFLOW_API_KEY: 'key-of-the-example', SEARCHFLOW_BASE_URL: sandbox.url },
  };
  const worker = spawn(process.execPath, [example('lib', 'worker.js')], { cwd, env, stdio: ['ignore', 2, 2] });
  try {
    for (const sink of ['table', 'files']) {
      const args = [example('lib', 'client.js'), sink, 'brands.csv', 'source'];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env });
      expect(JSON.parse(stdout)).toMatchObject({ phase: 'done', into: `sink:${sink}`, warehouse: { success: 30 } });
    }
    const loaded = [await tableRows(url, 'rows'), lines(join(cwd, 'out', 'lines'), 'rows')];
    for (const rows of loaded) expect(rows.map(({ name }) => name).sort()).toEqual([...names].sort());
    // The second job finds its pages in the journal.
    expect(sandbox.bill().units).toBe(30);
  } finally {
    worker.kill('SIGTERM');
    await once(worker, 'exit');
    await sandbox.close();
  }
});
