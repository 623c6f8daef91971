import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { examplePath, runExample } from '../../support/run-example.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

it.runIf(process.platform !== 'win32')(
  'examples/agent-contracts buys ten rows, then the rest, and its query counts every row',
  async () => {
    const { cwd, err, code } = await runExample('agent-contracts/run.sh');
    expect(code, err).toBe(0);
    const rows = parse(readFileSync(examplePath('company-list/companies.csv'))).length - 1;
    expect(err).toContain(`${rows} rows, 10 agent runs to buy`);
    const sql = readFileSync(examplePath('agent-contracts/question.sql'), 'utf8');
    const states = await readDuckDb(join(cwd, 'out', 'leaders.duckdb'), sql);
    expect(states.reduce((sum, state) => sum + Number(state.rows), 0)).toBe(rows);
  },
  180_000,
);
