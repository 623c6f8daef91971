import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { keyIdOf } from '../../../src/sandbox/ledger/key-usage.js';
import { folderOfTest } from '../../support/files/folders.js';
import { get, post, urls } from '../../support/sandbox/client.js';

const start = async (options: Partial<SandboxOptions> = {}): Promise<Sandbox> => {
  const sandbox = await startSandbox({ failureRate: 0, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
};
const service = { 'x-api-key': 'service' };
const usageOf = (sandbox: Sandbox, key: string, query = '') =>
  get(sandbox, `/team-management/api-keys/${keyIdOf(key)}/usage${query}`, service);

test('the bill of a key has its charges by price, and no charges of other keys', async () => {
  const sandbox = await start();
  await post(sandbox, '/contents', { urls: urls(3), text: true }, { 'x-api-key': 'a' });
  await post(sandbox, '/contents', { urls: urls(1), text: true }, { 'x-api-key': 'b' });
  await post(sandbox, '/search', { query: 'q', numResults: 5 }, { 'x-api-key': 'a' });
  const { status, json } = await usageOf(sandbox, 'a');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    api_key_id: keyIdOf('a'),
    period: { start: expect.any(String), end: expect.any(String) },
    cost_breakdown: [{ price_name: 'contents $0.001', quantity: 3, amount_usd: 0.003 }, { quantity: 1 }],
    metadata: { generated_at: expect.any(String) },
  });
  const other = (await usageOf(sandbox, 'b')).json as { total_cost_usd: number };
  expect(other.total_cost_usd).toBe(0.001);
  expect((json as { total_cost_usd: number }).total_cost_usd + other.total_cost_usd).toBeCloseTo(
    sandbox.bill().dollars,
    6,
  );
});

test('the bill of a run belongs to the key that started it, also after a restart', async () => {
  const dir = folderOfTest();
  const options = { ledgerFile: join(dir, 'ledger.jsonl'), agentRuns: { queuedMs: 0, durationMs: 1 } };
  const first = await start(options);
  await post(first, '/agent/runs', { query: 'q', effort: 'low' }, { 'x-api-key': 'a' });
  await first.close();
  const second = await start(options);
  await expect
    .poll(async () => {
      await get(second, '/agent/runs', { 'x-api-key': 'b' });
      return ((await usageOf(second, 'a')).json as { total_cost_usd: number }).total_cost_usd;
    })
    .toBe(second.bill().dollars);
  expect(second.bill().dollars).toBeGreaterThan(0);
});

test('a period is checked, and has only the charges of its time', async () => {
  const sandbox = await start({ serviceKey: 'service', keys: ['a'] });
  await post(sandbox, '/contents', { urls: urls(3), text: true }, { 'x-api-key': 'a' });
  const total = async (query: string) =>
    ((await usageOf(sandbox, 'a', query)).json as { total_cost_usd: number }).total_cost_usd;
  expect(await total('?start_date=2026-01-01&group_by=day')).toBeUndefined();
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  expect(await total(`?start_date=${day(1)}T00:00:00Z&end_date=${day(1)}T23:59:59.999Z`)).toBe(0);
  expect(await total(`?start_date=${day(1)}`)).toBe(0.003);
  expect((await usageOf(sandbox, 'a', '?start_date=tomorrow')).status).toBe(400);
  const refused = await get(sandbox, `/team-management/api-keys/${keyIdOf('a')}/usage`, { 'x-api-key': 'a' });
  expect(refused.status).toBe(401);
});
