import { expect, it } from 'vitest';
import { byChance, type Fault } from '../../service/service.mjs';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const approval = { by: 'Bob', why: 'as agreed' };

/** Each call gets one of these faults. Some happen before the service has made the change, some after it. */
const faults: readonly Fault[] = ['ok', 429, 'ok', 500, 'lost', 'ok', 'failed', 'ok', 'reset', 503, 'ok', 'lost'];

it.each(['pause', 'delete'] as const)(
  'faults 3, 4, 5: %s affects each monitor once and records it once, with any loss of answers',
  async (action) => {
    const setting = await MonitorSetting.open(temporal);
    setting.populate(300);
    const { server } = setting;
    server.faultOf = byChance(faults);
    const right = [...server.monitors.records.values()]
      .filter((one) => one.metadata?.team === 'growth' && (action === 'delete' || one.status === 'active'))
      .map(({ id }) => id);
    const filter = { metadata: { team: 'growth' } };
    const summary = await (await setting.batch({ action, filter, limit: 20, approval })).result();
    expect(summary).toMatchObject({
      phase: 'done',
      affected: right.length,
      effect: { affected: right.length, unplanned: 0, missed: 0, others: 0 },
    });
    expect(summary.lost).toBeGreaterThan(0);
    const affected = setting.batchCalls().flatMap(({ ids }) => ids);
    expect([...affected].sort()).toEqual([...right].sort());
    const rows = await setting.query<{ id: string; request_id: string | null; note: string | null }>(
      'SELECT monitor_id AS id, request_id, note FROM monitor_actions WHERE planned = 1',
    );
    expect(rows.map(({ id }) => id).sort()).toEqual([...right].sort());
    const unanswered = rows.filter(({ request_id }) => request_id === null);
    expect(unanswered.length).toBeGreaterThan(0);
    expect(new Set(unanswered.map(({ note }) => note))).toEqual(
      new Set(['the answer was lost; the list of monitors showed the effect']),
    );
  },
);
