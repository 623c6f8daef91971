import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { expect, inject, it, onTestFinished } from 'vitest';
import { killAllOf } from '../../support/jobs/processes.js';
import { fileNamespace } from '../../support/temporal.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const example = (file: string) => join(root, 'examples', 'company-list', file);
const records = (file: string): Record<string, string>[] => parse(readFileSync(file), { columns: true });

it.runIf(process.platform !== 'win32')(
  'examples/company-list enriches by searches and by agents on the sandbox, and its query returns a row for every company',
  async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'searchflow-example-'));
    const { PATH = '' } = process.env;
    const env = {
      ...{ PATH, HOME: cwd, XDG_STATE_HOME: cwd, SEARCHFLOW_STATE_DIR: join(cwd, 'state') },
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: fileNamespace(),
      SEARCHFLOW: `${process.execPath} ${join(root, 'dist', 'cli', 'main.js')}`,
    };
    onTestFinished(() => {
      killAllOf(join(cwd, 'state'));
      rmSync(cwd, { recursive: true, force: true });
    });
    const child = spawn('sh', [example('run.sh')], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    const [err] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([child.exitCode, err]).toEqual([0, expect.any(String)]);
    const names = records(example('companies.csv')).map(({ name }) => name);
    const runs = Math.ceil(names.length / 8);
    expect(err).toContain(`sites: ${names.length} rows, ${names.length} searches to buy for about $0.`);
    expect(err).toContain(`leaders: ${names.length} rows, ${names.length} agent runs to buy for about $0.`);
    expect(err).toContain(`leaders-together: ${names.length} rows, ${runs} agent runs to buy for about $0.`);
    for (const file of ['leaders.csv', 'leaders-together.csv']) {
      const rows = records(join(cwd, 'out', file));
      expect(rows.map(({ name }) => name)).toEqual(names);
      for (const row of rows) {
        expect(row).toMatchObject({
          status: 'success',
          ceo: expect.stringMatching(/./),
          employees: expect.stringMatching(/^-?\d+$/),
        });
      }
    }
    const answer = await readDuckDb(
      join(cwd, 'out', 'companies.duckdb'),
      readFileSync(example('question.sql'), 'utf8'),
    );
    expect(answer.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(answer.every(({ site, sources }) => String(site).startsWith('https://') && Number(sources) > 0)).toBe(true);
  },
  180_000,
);
