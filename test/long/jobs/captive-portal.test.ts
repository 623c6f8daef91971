import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { plainRows } from '../../support/jobs/folder.js';
import { openSetting, type Setting } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let setting: Setting;
beforeAll(async () => {
  temporal = await openTemporal();
  setting = await openSetting(temporal, { sandbox: { latencyMs: { min: 20, max: 40 } } });
});
afterAll(async () => {
  await setting?.close();
  await temporal?.teardown();
});

const portal = (body: string, nth: number): Fault => ({ when: { nth }, do: { kind: 'body', body } });

let used = 0;
const freshRows = (count: number) => plainRows(count, 10_000 * ++used);

it.each(['[]', 'null', '{"results":null}', '{"message":"down"}', ''])(
  'fault 57: an answer of %j is requested again, and no row fails for it',
  async (body) => {
    const { sandbox } = setting;
    const rows = freshRows(20);
    const job = await setting.begin(rows, {}, [portal(body, 1)]);
    expect(await job.result()).toMatchObject({ requests: 2, unknownOutcomes: 1, warehouse: { success: 20 } });
    expect(sandbox.bill()).toMatchObject({ requests: 2, units: 20 });
    const listed = await job.folder.query<{ reason: string }>('SELECT reason FROM unknown_outcomes');
    expect(listed).toHaveLength(1);
  },
);
