import { readFileSync, statSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../../src/activities/index.js';
import type { OperationName } from '../../../src/api/operations.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { ActivitySetting, type Fields, runActivity } from '../../support/activities/activity-setting.js';
import { ofFile } from '../../support/of-file.js';

const sandbox = ofFile(() => startSandbox({ failureRate: 0, agentRuns: { durationMs: 200 }, events: { count: 50 } }));
const setting = ofFile(() => ActivitySetting.open());
let deps: ActivityDeps;

beforeAll(async () => {
  deps = setting.worker({ baseUrl: sandbox.url });
});

const run = (name: OperationName, input: Fields, changes: Partial<ActivityDeps> = {}) =>
  runActivity({ ...deps, ...changes }, name, input);

const monitor = (name: string): Fields => ({
  name,
  search: { query: 'news of copper' },
  webhook: { url: 'https://example.com/hook' },
});
const sent = () => sandbox.log().length;

describe('the activities of the operations table', () => {
  it('put the webhook secret into its file and nowhere else', async () => {
    const { data } = await run('createMonitor', monitor('copper'));
    const id = String(data.id);
    expect(data).not.toHaveProperty('webhookSecret');
    const secret = (await deps.secrets?.get(`webhook/${id}`))?.reveal() ?? '';
    expect(secret.length).toBeGreaterThan(8);
    expect(statSync(setting.secretFile).mode & 0o777).toBe(0o600);
    for (const name of ['getMonitor', 'triggerMonitor', 'listMonitorRuns', 'deleteMonitor'] as const) {
      expect(JSON.stringify(await run(name, { id }))).not.toContain(secret);
    }
    expect(readFileSync(setting.secretFile, 'utf8')).toContain(secret);
  });

  const url = 'https://example.com/';

  const wrongOptions: readonly [string, unknown, string][] = [
    ['a misspelt cap', { maxCostDollar: 0.001 }, 'did you mean maxCostDollars?'],
    ['a cap in other letters', { max_cost_dollars: 0.001 }, 'did you mean maxCostDollars?'],
    ['a text', { refreshAfterMs: '0' }, 'refreshAfterMs must be a number of at least 0 (got "0")'],
    ['a number', 5, 'must be an object (got 5)'],
    ['an unknown option', { cache: false }, 'cache is not a field of the options'],
  ];
  it.each(wrongOptions)(
    'refuse %s as the options of a call, before anything is sent',
    async (_name, call, sentence) => {
      const before = sent();
      for (const [name, input] of [
        ['search', { query: 'copper' }],
        ['getContents', { urls: [url] }],
        ['createAgentRun', { query: 'copper' }],
      ] as const) {
        const failure = { type: 'InvalidRequest', nonRetryable: true, message: expect.stringContaining(sentence) };
        await expect(runActivity(deps, name, input, call as Fields)).rejects.toMatchObject(failure);
      }
      expect(sent()).toBe(before);
    },
  );
});
