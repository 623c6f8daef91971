import { describe, expect, it, onTestFinished } from 'vitest';
import { createActivities } from '../../../src/activities/index.js';
import { ActivitySetting, attempt } from '../../support/activities/activity-setting.js';
import { json, rawServer } from '../../support/api/raw-server.js';
import { ofFile } from '../../support/of-file.js';

const setting = ofFile(() => ActivitySetting.open());

/**
 * Makes one call of a batch that pauses two planned monitors; the first of them is paused now. `answer`: null for a call without an answer.
 */
async function affect(answer: Buffer | null, unplanned: readonly string[] = []) {
  const monitors = ['paused', 'active'].map((status, index) => ({
    id: `mon_${index}`,
    name: `daily ${index}`,
    status,
  }));
  const sent: object[] = [];
  const server = await rawServer(({ head, body }, socket) => {
    if (head.startsWith('GET')) return void socket.write(json(200, { data: monitors, hasMore: false }));
    sent.push(JSON.parse(body));
    if (answer === null) socket.destroy();
    else socket.write(answer);
  });
  onTestFinished(() => server.close());
  const recorded: object[] = [];
  const audit = {
    monitors: async () => monitors.map(({ id }) => ({ id, ours: false })),
    record: async (_run: object, call: object) => {
      recorded.push(call);
      return { planned: 1, unplanned };
    },
  };
  const deps = setting.worker({ baseUrl: server.url });
  const { affectMonitors } = createActivities({
    ...deps,
    monitors: { ...deps.monitors, warehouse: async () => ({ audit }) as never },
  });
  const step = { job: 'j', run: `run ${server.port}`, action: 'pause', into: 'm.duckdb' } as const;
  const effect = await attempt(affectMonitors, { ...step, filter: { name: 'daily' }, limit: 7, call: 3 }).catch(
    (error: Error) => error,
  );
  return { effect, recorded, sent };
}

describe('a call of a batch', () => {
  it('names the status before the action and the limit of the step, and records what the answer says', async () => {
    const { effect, recorded, sent } = await affect(json(200, { ids: ['mon_1'], hasMore: true, requestId: 'req-1' }));
    expect(sent).toEqual([{ action: 'pause', filter: { name: 'daily', status: 'active' }, dry_run: false, limit: 7 }]);
    expect(effect).toMatchObject({ answered: true, fresh: 1, unplanned: 0, hasMore: true });
    expect(recorded).toMatchObject([{ call: 3, answered: true, ids: ['mon_1'], requestId: 'req-1' }]);
  });

  it('counts monitors beyond the plan only if their state shows the effect', async () => {
    const all = json(200, { ids: ['mon_0', 'mon_1', 'mon_2'], hasMore: false });
    const { effect } = await affect(all, ['mon_0', 'mon_1']);
    expect(effect).toMatchObject({ fresh: 2, unplanned: 2, stranger: 'mon_0' });
  });

  it.each([
    ['without an answer', null],
    ['whose answer cannot be read', json(200, { ids: 'all of them', hasMore: 'perhaps' })],
  ])('%s is not repeated: its effect is read from the monitors', async (_what, answer) => {
    const { effect, recorded, sent } = await affect(answer);
    expect(sent).toHaveLength(1);
    expect(effect).toMatchObject({ answered: false, fresh: 1, hasMore: null });
    expect(recorded).toMatchObject([{ answered: false, requestId: null, ids: ['mon_0'] }]);
  });

  it('that the service made a dry run of fails, and is not recorded', async () => {
    const { effect, recorded } = await affect(json(200, { ids: ['mon_1'], dry_run: true, hasMore: false }));
    expect(String(effect)).toContain('the service made a dry run instead of the requested change');
    expect(recorded).toEqual([]);
  });

  it('that the service refuses fails with its reason', async () => {
    const { effect, recorded } = await affect(json(401, { error: 'Invalid key', tag: 'INVALID_API_KEY' }));
    expect(effect).toMatchObject({ type: 'Unauthorized' });
    expect(recorded).toEqual([]);
  });
});
