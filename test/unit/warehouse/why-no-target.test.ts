import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { whyNoTarget } from '../../../src/warehouse/export/why-no-target.js';
import { placeOrProblem } from '../../../src/worker/config/publish-step.js';
import { whyNoWarehouse } from '../../../src/worker/config/warehouse-setting.js';
import { identify } from '../../../src/worker/staging/find-job.js';
import { folderOfFile } from '../../support/files/folders.js';

const root = folderOfFile();
const at = (path: string) => join(root, path);
mkdirSync(at('data'));
for (const file of ['data/a.csv', 'data/b.parquet', 'data/c [1].csv']) writeFileSync(at(file), 'id\n1\n');
/** Why a text is no name of a job. */
function jobProblem(job: string): string {
  try {
    return identify({ cwd: root, origin: 'https://api' }, { input: 'a.csv', job, into: null }).job;
  } catch (error) {
    return (error as Error).message;
  }
}

it.each([
  ['csv', 'data/*.csv', 'data/a.csv', /would be a file of the input/],
  ['csv', 'data/*.csv', 'data/out.csv', /would be a file of the input/],
  ['csv', '**/*.csv', 'data/new/out.csv', /would be a file of the input/],
  ['csv', 'data/*.csv', 'data/deep/out.csv', null],
  ['csv', 'data/*.parquet', 'data/out.csv', null],
  ['csv', 'data/*.csv', 'out.csv', null],
  ['csv', 'data/c [1].csv', 'data/out.csv', null],
  ['parquet', 'data/b.parquet', 'data', /has the input/],
  ['parquet', 'data/*.parquet', 'data', /has the input/],
  ['parquet', 'data/b.parquet', 'lake', null],
] as const)('a %s of the input %s at %s', (kind, input, target, why) => {
  const found = whyNoTarget(kind, at(target), { input: at(input) });
  if (why === null) expect(found).toBeNull();
  else expect(found).toMatch(why);
});

it.each([
  ...['host=db.internal password=canary', 'ann:canary@db.internal/dw', 'mysql://ann:canary@db.internal/dw'],
  ...["'postgres://ann:canary@db.internal/dw'", '"postgres://ann:canary@db.internal/dw"'],
  ...['--into=mysql://ann:canary@h/x', '--to="postgres://ann:canary@h/x"', 'psql "postgres://ann:canary@h/x"'],
  ...['AccountName=a;AccountKey=canary', 'token=canary', 'x.duckdb?encryption_key=canary', 'mysql -u ann -pcanary x'],
])('nothing is written to %s, and its password is no name of a file', (target) => {
  const whys = [
    whyNoTarget('csv', target, {}),
    whyNoTarget('parquet', target, {}),
    whyNoWarehouse(target),
    placeOrProblem(target),
    placeOrProblem(`ducklake:${target}`),
    jobProblem(target),
  ];
  for (const why of whys) {
    expect(why).toEqual(expect.any(String));
    expect(why).not.toContain('canary');
  }
});
