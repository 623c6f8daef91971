import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { monitorWorkflows } from '../../../src/core/monitors/monitor-names.js';
import type { CreatedMonitorResult } from '../../../src/core/workflow-result-schemas.js';
import type { Fault } from '../../service/service.mjs';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const canary = 'whsec_canary-8d21f7c0b3e94a55';
const definition = {
  name: 'launches',
  search: { query: 'product launches' },
  metadata: { team: 'growth' },
  webhook: { url: 'https://hooks.example/launches' },
};

/** Creates a monitor; the calls that create it have these faults, one after the other. */
async function create(setting: MonitorSetting, ...faults: Fault[]) {
  const { server, folder } = setting;
  server.monitors.secret = canary;
  let creations = 0;
  server.faultOf = (_call, method, path) =>
    method === 'POST' && path === '/monitors' ? (faults[creations++] ?? 'ok') : 'ok';
  const secretFile = join(folder.dir, 'secrets', 'webhooks.json');
  const input = { definition, secretFile };
  const handle = await setting.start<CreatedMonitorResult>(monitorWorkflows.createMonitor, input);
  const result = handle.result();
  result.catch(() => undefined);
  return { handle, result, secretFile };
}

const secretsIn = (file: string): Record<string, string> => JSON.parse(readFileSync(file, 'utf8')).secrets;

it.each([['lost'], ['failed']] as const)(
  'fault 20: a monitor whose creation ended %s is adopted, not created again, and its secret is missing',
  async (fault) => {
    const setting = await MonitorSetting.open(temporal);
    const { result } = await create(setting, fault);
    const made = await result;
    expect(made).toMatchObject({ adopted: true, secret: 'missing', others: [] });
    expect([...setting.server.monitors.records.keys()]).toEqual([made.monitor.id]);
  },
);

it('a call without effect (reset, or 500) is repeated and creates one monitor', async () => {
  // The two cases run in parallel, because each searches for twelve seconds for a monitor that the failed call may have created.
  const settings = await Promise.all(
    (['reset', 500] as const).map(async (fault) => [fault, await MonitorSetting.open(temporal)] as const),
  );
  const made = settings.map(async ([fault, setting]) => {
    const { result, secretFile } = await create(setting, fault);
    const one = await result;
    expect(one).toMatchObject({ adopted: false, secret: 'kept', others: [] });
    expect([...setting.server.monitors.records.keys()]).toEqual([one.monitor.id]);
    expect(Object.keys(secretsIn(secretFile))).toEqual([`webhook/${one.monitor.id}`]);
  });
  await Promise.all(made);
});
