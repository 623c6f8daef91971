import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting, type Setting } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let setting: Setting;
beforeAll(async () => {
  temporal = await openTemporal();
  setting = await openSetting(temporal);
});
afterAll(async () => {
  await setting?.close();
  await temporal?.teardown();
});

const calls = 4;

it.each(Array.from({ length: calls + 1 }, (_, index) => index + 1))(
  'fault 5: the answer to call %i is lost after it was charged: listed, bounded, every row complete',
  async (nth) => {
    const rows = plainRows(calls * 10, nth * 1000);
    const faults: Fault[] = [{ when: { nth }, do: { kind: 'reset', moment: 'after' } }];
    const job = await setting.begin(rows, {}, faults);
    const summary = await job.result();
    // The number after the last call has no call, so no answer is lost.
    const lost = nth <= calls ? 1 : 0;
    expect(summary).toMatchObject({ phase: 'done', unknownOutcomes: lost, requests: calls });
    const { sandbox } = setting;
    const again = boughtAgain(sandbox);
    expect(Object.values(again)).toEqual(Array(lost * 10).fill(1));
    const { journal } = setting.host().parts.deps;
    const unknown = (await job.totals(setting.host())).unknown.flatMap((outcome) => outcome.keys);
    const listed = [...(await journal.read(unknown)).values()].map((record) => record.unit);
    expect(listed.sort()).toEqual(Object.keys(again).sort());
    expect(job.folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
    expect(sandbox.bill().micros - summary.costMicros).toBe(lost * 10_000);
  },
);
