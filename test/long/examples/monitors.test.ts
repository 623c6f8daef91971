import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { examplePath, runExample } from '../../support/run-example.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const example = (file: string) => examplePath(`monitors/${file}`);

it.runIf(process.platform !== 'win32')(
  'examples/monitors pauses over the weekend and loads runs into DuckDB on the sandbox, and its query returns rows',
  async () => {
    const { cwd, out, err, code } = await runExample('monitors/weekend.sh');
    expect([code, err]).toEqual([0, expect.stringContaining('Schedule weekend created')]);
    expect(out).toContain('weekend-end');
    const sites = await readDuckDb(join(cwd, 'out', 'monitors.duckdb'), readFileSync(example('question.sql'), 'utf8'));
    expect(sites.length).toBeGreaterThan(0);
    expect(sites[0]).toMatchObject({ runs: '1', first_found: expect.any(String) });
  },
  180_000,
);
