import { copyFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { closeAfterTest } from '../../support/after-test.js';
import { enrich } from '../../support/jobs/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const rows = plainRows(300);
const soon = { timeout: 20_000, interval: 10 };

it('fault 59: a job whose warehouse was replaced by an older copy ends with every row, and buys none again', async () => {
  const setting = closeAfterTest(await openSetting(temporal, { sandbox: { latencyMs: 60 } }));
  const { sandbox } = setting;
  const job = await setting.begin(rows);
  const older = `${job.folder.into}.older`;
  for (const [sent, step] of [
    [6, () => copyFileSync(job.folder.into, older)],
    [16, () => copyFileSync(older, job.folder.into)],
  ] as const) {
    await expect.poll(() => sandbox.log().length, soon).toBeGreaterThanOrEqual(sent);
    await setting.host().stop();
    step();
    rmSync(`${job.folder.into}.wal`, { force: true });
    await setting.anotherHost();
  }
  expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { success: 300, missing: 0 } });
  await setting.host().stop();
  expect(boughtAgain(sandbox)).toEqual({});
  expect((await job.folder.warehouseRows()).map((row) => row.input)).toEqual(rows);
  expect(job.folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
});

it('fault 59: a lost or older journal is reported before anything is bought, and its answers are adopted', async () => {
  const folder = Folder.ofTest();
  const sandbox = closeAfterTest(await startSandbox({ failureRate: 0, textBytes: 100 }));
  const config = folder.config(sandbox.url, { temporalAddress: temporal.address });
  const other = join(folder.dir, 'other.csv');
  writeFileSync(other, stringify([['company', 'url'], ...rows.slice(80, 120).map(([, name, url]) => [name, url])]));
  folder.write(rows.slice(0, 60));
  await enrich(folder, config);
  cpSync(folder.stateDir, `${folder.stateDir}.backup`, { recursive: true });
  folder.write(rows.slice(0, 100));
  await enrich(folder, config);

  rmSync(folder.stateDir, { recursive: true });
  cpSync(`${folder.stateDir}.backup`, folder.stateDir, { recursive: true });
  const first = await enrich(folder, config, { input: other, csv: null });
  expect(first.plan).toMatchObject({ alreadyBought: 20, toBuy: 20 });
  expect(first.plan.notes.join()).toMatch(/has 20 answers, bought for \$0.02, that are not in the journal.*--rebuy/);
  expect(first.summary).toMatchObject({ phase: 'done', requests: 1, costMicros: 20_000, warehouse: { success: 40 } });

  rmSync(folder.stateDir, { recursive: true });
  folder.write([...rows.slice(0, 110), ['new', 'New', 'https://new.example/']]);
  const second = await enrich(folder, config);
  expect(second.plan).toMatchObject({ status: 'new', alreadyBought: 110, toBuy: 1 });
  expect(second.plan.notes.join()).toMatch(/has 110 answers, bought for \$0.11/);
  expect(second.summary).toMatchObject({ phase: 'done', requests: 1, warehouse: { success: 111 } });
  expect(boughtAgain(sandbox)).toEqual({});

  rmSync(folder.stateDir, { recursive: true });
  const third = await enrich(folder, config, { input: other, csv: null, job: 'again', rebuy: true });
  expect(third.plan).toMatchObject({ toBuy: 40 });
  expect(third.plan.notes.join()).toMatch(/bought again \(--rebuy\)/);
  expect(third.summary).toMatchObject({ phase: 'done', costMicros: 40_000 });
});
