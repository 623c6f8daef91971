import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ofFile } from '../../support/of-file.js';
import { packPackage } from '../../support/package/packed.js';

const packed = ofFile(packPackage);

/** A test file as an author of a warehouse writes it. */
const suite = (nul: string) => `
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { monitorContract, type QueryResult, rowsContract, type WarehouseUnderTest } from 'searchflow/testing';
import { describe } from 'vitest';
// @ts-ignore: a module that the package does not export.
import { openWarehouse } from './node_modules/searchflow/dist/warehouse/index.js';

async function query(file: string, sql: string): Promise<QueryResult> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(sql);
  const rows = reader.getRows().map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
  connection.closeSync();
  instance.closeSync();
  return { names: reader.columnNames(), rows };
}

function make(dir: string): WarehouseUnderTest {
  const file = join(dir, 'warehouse.duckdb');
  const warehouse = openWarehouse(file);
  return { ...warehouse, nul: ${JSON.stringify(nul)}, query: async (sql) => { await warehouse.close(); return query(file, sql); } };
}

describe('rows', () => rowsContract(make));
describe('monitors', () => monitorContract(make));
`;

/** Runs a test file in the project that has the package installed. */
function run(text: string, ...args: readonly string[]) {
  writeFileSync(join(packed.project, 'warehouse.test.ts'), text);
  const { status, stdout } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', '--testTimeout=60000', ...args],
    { cwd: packed.project, encoding: 'utf8' },
  );
  const { numPassedTests, testResults } = JSON.parse(stdout) as {
    numPassedTests: number;
    testResults: { assertionResults: { status: string; fullName: string }[] }[];
  };
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((result) => result.status === 'failed')
    .map(({ fullName }) => fullName);
  return { status, numPassedTests, failed };
}

it('the suites of the installed package pass on its own warehouse, and fail on another one', () => {
  // The contract tier runs the same suites whole.
  const passed = run(suite('\0'), '-t', 'rows (values|loading|discarded)|monitors');
  expect(passed).toMatchObject({ status: 0, failed: [] });
  expect(passed.numPassedTests).toBeGreaterThan(20);
  expect(run(suite('another text'), '-t', 'NUL')).toMatchObject({
    status: 1,
    failed: ['rows values stores NUL, quotes, emoji, a megabyte of text, huge numbers and half surrogates'],
  });
}, 900_000);

it('the suites have types that an author of a warehouse can use', () => {
  writeFileSync(join(packed.project, 'warehouse.test.ts'), suite('\0'));
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      'node_modules/typescript/bin/tsc',
      ...['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'],
      ...['--types', 'node', '--ignoreConfig', 'warehouse.test.ts'],
    ],
    { cwd: packed.project, encoding: 'utf8' },
  );
  expect([stdout, status]).toEqual(['', 0]);
});
