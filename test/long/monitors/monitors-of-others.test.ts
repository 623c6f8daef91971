import { describe, expect, it } from 'vitest';
import type { BatchMonitorsInput } from '../../../src/core/workflow-input-schemas.js';
import type { BatchSummary } from '../../../src/core/workflow-result-schemas.js';
import { failureOf, MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

/** Opens a setting with this number of monitors that match the name `daily`; returns their ids, too. */
async function open(count: number): Promise<{ setting: MonitorSetting; ids: string[] }> {
  const setting = await MonitorSetting.open(temporal);
  const ids = Array.from({ length: count }, (_, index) => setting.server.monitors.add({ name: `daily ${index}` }).id);
  return { setting, ids };
}

/** Makes changes as another client: `first` just before the first call of a batch, `second` between the first and the second call. */
function meanwhile(setting: MonitorSetting, first: () => void, second: () => void = () => undefined) {
  const acts = [first, second];
  setting.server.meanwhile = (_call, _method, path) => {
    if (path === '/monitors/batch' && setting.batchCalls().length === 3 - acts.length) acts.shift()?.();
  };
}

const notesOf = (summary: BatchSummary) =>
  Object.fromEntries(summary.effect?.examples.map(({ id, kind, note }) => [id, [kind, note]]) ?? []);

describe('a change by another client', () => {
  it('before our call is reported (pause, rename, delete), and so is a monitor that newly matches', async () => {
    const { setting, ids } = await open(4);
    const { server } = setting;
    const [first, second, third, fourth] = ids as [string, string, string, string];
    let added = '';
    meanwhile(setting, () => {
      server.monitors.change(first, { status: 'paused' });
      server.monitors.change(second, { name: 'renamed' });
      server.monitors.records.delete(third);
      added = server.monitors.add({ name: 'daily five' }).id;
    });
    const summary = await (await setting.batch({ action: 'pause', filter: { name: 'daily' } })).result();
    expect(summary.effect).toMatchObject({ affected: 1, contested: 0, unplanned: 1, missed: 0, others: 3 });
    expect(notesOf(summary)).toEqual({
      [first]: ['others', 'pause by another client'],
      [second]: ['others', 'changed by another client'],
      [third]: ['others', 'deleted by another client'],
      [added]: ['unplanned', 'matched only after the plan was made'],
    });
    expect(server.monitors.records.get(fourth)?.status).toBe('paused');
  });

  it('is reported also for a monitor that our call affects (edited before it, or unpaused after it)', async () => {
    const { setting, ids } = await open(6);
    const { server } = setting;
    const [edited, , , , , undone] = ids as [string, string, string, string, string, string];
    meanwhile(
      setting,
      () => server.monitors.change(edited, { search: { query: 'another question' } }),
      // The first call has paused the newest monitor; another client unpauses it.
      () => server.monitors.change(undone, { status: 'active' }),
    );
    const summary = await (await setting.batch({ action: 'pause', filter: { name: 'daily' }, limit: 2 })).result();
    expect(setting.batchCalls().flatMap((call) => call.ids)).toHaveLength(7);
    expect(summary).toMatchObject({ affected: 6, effect: { affected: 6, contested: 2, unplanned: 0, others: 0 } });
    expect(notesOf(summary)).toEqual({
      [edited]: ['affected', 'also changed by another client'],
      [undone]: ['affected', 'another client reverted this pause; it was repeated'],
    });
    const audit = await setting.query<{ id: string }>(
      'SELECT monitor_id AS id, CAST(call_number AS INTEGER) AS call, CAST(again_call AS INTEGER) AS again, note FROM monitor_actions WHERE note IS NOT NULL ORDER BY 1',
    );
    expect(audit).toEqual([
      { id: edited, call: 4, again: null, note: expect.stringContaining('also changed') },
      { id: undone, call: 1, again: 2, note: expect.stringContaining('repeated') },
    ]);
  });
});

describe('after an approval', () => {
  async function waiting(input: Partial<BatchMonitorsInput> = {}) {
    const { setting, ids } = await open(5);
    const handle = await setting.batch({ action: 'delete', filter: { name: 'daily' }, ...input });
    await expect.poll(async () => (await setting.progress(handle)).phase, { timeout: 20_000 }).toBe('waiting');
    return { setting, ids, handle };
  }

  it.each([
    ['renamed', { name: 'daily, keep this' }],
    ['paused', { status: 'paused' }],
    ['changed in its query', { search: { query: 'another question' } }],
  ])(
    'nothing is deleted if a monitor was %s since the plan, and the audit names the approver',
    async (_what, fields) => {
      const { setting, ids, handle } = await waiting();
      setting.server.monitors.change(ids[2] as string, fields);
      await handle.executeUpdate('approve', { args: [{ by: 'Bob', why: 'old ones' }] });
      expect(await failureOf(handle.result())).toMatchObject({
        type: 'PlanChanged',
        message: expect.stringMatching(/^1 matching monitor.*has changed since/),
      });
      expect(setting.batchCalls()).toEqual([]);
      expect(
        await setting.query(
          'SELECT phase, decided_by, decided_why, CAST(approved AS INTEGER) AS approved FROM monitor_batches',
        ),
      ).toEqual([{ phase: 'failed', decided_by: 'Bob', decided_why: 'old ones', approved: 1 }]);
    },
  );

  it('nothing is deleted if a monitor matches that was not in the plan', async () => {
    const { setting, handle } = await waiting();
    setting.server.monitors.add({ name: 'daily newcomer' });
    await handle.executeUpdate('approve', { args: [{ by: 'Bob' }] });
    expect(await failureOf(handle.result())).toMatchObject({
      type: 'PlanChanged',
      message: expect.stringMatching(/daily newcomer/),
    });
    expect(setting.server.monitors.records.size).toBe(6);
  });
});
