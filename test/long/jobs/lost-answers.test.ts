import { expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';

const file = settingOfFile();

const calls = 4;

it.each(Array.from({ length: calls + 1 }, (_, index) => index + 1))(
  'fault 5: the answer to call %i is lost after it was charged: listed, bounded, every row complete',
  async (nth) => {
    const rows = plainRows(calls * 10, nth * 1000);
    const faults: Fault[] = [{ when: { nth }, do: { kind: 'reset', moment: 'after' } }];
    const job = await file.setting.begin(rows, {}, faults);
    const summary = await job.result();
    // The number after the last call has no call, so no answer is lost.
    const lost = nth <= calls ? 1 : 0;
    expect(summary).toMatchObject({ phase: 'done', unknownOutcomes: lost, requests: calls });
    const { sandbox } = file.setting;
    const again = boughtAgain(sandbox);
    expect(Object.values(again)).toEqual(Array(lost * 10).fill(1));
    const { journal } = file.setting.host().parts.deps;
    const unknown = (await job.totals(file.setting.host())).unknown.flatMap((outcome) => outcome.keys);
    const listed = [...(await journal.read(unknown)).values()].map((record) => record.unit);
    expect(listed.sort()).toEqual(Object.keys(again).sort());
    expect(job.folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
    expect(sandbox.bill().micros - summary.costMicros).toBe(lost * 10_000);
  },
);
