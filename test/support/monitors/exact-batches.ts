import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import type { BatchMonitorsInput } from '../../../src/core/workflow-input-schemas.js';
import type { StoredMonitor } from '../../service/service.mjs';
import { MonitorSetting } from './setting.js';

export type BatchCase = readonly [string, BatchMonitorsInput, (monitor: StoredMonitor) => boolean];
export const approval = { by: 'Bob', why: 'as agreed' };
export const batchCases: readonly BatchCase[] = [
  ['pause by name', { action: 'pause', filter: { name: 'dAILy' } }, (one) => /daily/i.test(one.name ?? '')],
  [
    'pause by metadata, all pairs',
    { action: 'pause', filter: { metadata: { team: 'sales', region: 'eu' } } },
    (one) => one.metadata?.team === 'sales',
  ],
  ['pause by status alone', { action: 'pause', filter: { status: 'active' } }, () => true],
  [
    'pause seven at a time',
    { action: 'pause', filter: { metadata: { team: 'growth' } }, limit: 7 },
    (one) => one.metadata?.team === 'growth',
  ],
  ['unpause by name', { action: 'unpause', filter: { name: 'weekly' } }, (one) => /weekly/.test(one.name ?? '')],
  [
    'delete by metadata',
    { action: 'delete', filter: { metadata: { team: 'growth' } }, approval },
    (one) => one.metadata?.team === 'growth',
  ],
];
const before = { pause: 'active', unpause: 'paused', delete: null } as const;

/** Makes a test for each of these batches, among 1,200 monitors. */
export function exactBatches(cases: readonly BatchCase[], temporal: () => TestWorkflowEnvironment): void {
  describe.each(cases)('%s', (_what, input, matches) => {
    it('affects exactly the right ones of 1,200 monitors, never a disabled one, and ends', async () => {
      const setting = await MonitorSetting.open(temporal());
      setting.populate();
      const { server } = setting;
      const all = [...server.monitors.records.values()].map((one) => ({ ...one }));
      const from = before[input.action];
      const right = all.filter((one) => matches(one) && (from === null || one.status === from)).map(({ id }) => id);
      const summary = await (await setting.batch(input)).result();
      expect(summary).toMatchObject({
        phase: 'done',
        plan: { planned: right.length },
        affected: right.length,
        effect: { affected: right.length, unplanned: 0, missed: 0, others: 0, examples: [] },
        calls: Math.ceil(right.length / (input.limit ?? 100)),
        lost: 0,
      });
      const changed = all
        .filter((one) => server.monitors.records.get(one.id)?.updatedAt !== one.updatedAt)
        .map(({ id }) => id);
      expect(changed).toEqual(right);
      const calls = setting.batchCalls();
      expect(calls.flatMap(({ ids }) => ids).sort()).toEqual([...right].sort());
      const audit = await setting.query<{ id: string; request_id: string; by: string }>(
        `SELECT monitor_id AS id, request_id, approved_by AS by FROM monitor_actions WHERE planned = 1 ORDER BY 1`,
      );
      const requests = new Map(calls.flatMap(({ ids, requestId }) => ids.map((id) => [id, requestId] as const)));
      expect(audit).toEqual(
        [...right].sort().map((id) => ({ id, request_id: requests.get(id), by: input.approval ? 'Bob' : 'Ann' })),
      );
    });
  });
}
