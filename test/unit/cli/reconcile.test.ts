import { createServer } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { usage } from '../../../src/cli/usage.js';
import type { UsageLine } from '../../../src/core/purchase/spend.js';
import { startService } from '../../service/service.mjs';
import { fakeContext, fakeRuntime, spend } from '../../support/cli/fake-runtime.js';
import { flagsOf } from '../../support/cli/read-flags.js';
import { ofFile } from '../../support/of-file.js';
import { listen } from '../../support/sandbox/listen.js';

const KEY = 'key-of-a-program';
const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
const line = (group: string, landedMicros: number, changes: Partial<UsageLine> = {}): UsageLine => ({
  ...{ group, requests: 1, units: 1, landedMicros, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 },
  ...changes,
});

const service = ofFile(() => startService({ key: KEY }));

beforeEach(() => {
  service.bill.change = null;
});

function compare(lines: readonly UsageLine[], env: Record<string, string | undefined> = {}, json = false) {
  const { runtime } = fakeRuntime({ spend: async () => ({ ...spend, usage: async () => lines }) });
  const settings = {
    ...{ SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: service.url, SEARCHFLOW_BILL_URL: service.url },
    ...{ SEARCHFLOW_SERVICE_KEY: service.serviceKey, SEARCHFLOW_KEY_ID: service.bill.idOf(KEY) },
    ...env,
  };
  const { context, out, err } = fakeContext(runtime, { env: settings, flags: { json } });
  const run = (typed: object = {}) => {
    const { flags, mistakes } = flagsOf('usage', { by: 'job', reconcile: true, since: '3d', ...typed });
    return usage({ ...context, mistakes }, flags);
  };
  return { run, out, err };
}

describe('searchflow usage --reconcile', () => {
  it('asks for a day and a key in each call, and never sends the API key to the bill', async () => {
    const before = service.log.length;
    const { run, out } = compare([]);
    expect(await run()).toBe(0);
    expect(out()).toContain('Neither the journal nor the service has a charge in this time.');
    const calls = service.log.slice(before);
    expect(calls.map(({ method, kind, key }) => [method, kind, key])).toEqual(
      Array.from({ length: 4 }, () => ['GET', 'bill', service.serviceKey]),
    );
  });

  it('shows each day with its difference, and explains it by unknown outcomes', async () => {
    service.bill.charge(KEY, day(2), 'search', 3, 21_000);
    const { run, out } = compare([line(day(2), 14_000, { unknownOutcomes: 1, unknownMicros: 7000 })]);
    expect(await run()).toBe(0);
    const [, head, row, ...rest] = out().trimEnd().split('\n');
    expect(head?.trim().split(/ {2,}/)).toEqual([
      ...['day', 'journal', 'service', 'difference', 'unknown outcomes', 'unexplained'],
    ]);
    expect(row?.split(/ +/)).toEqual([day(2), '$0.014', '$0.021', '$0.007', '$0.007', '$0.00']);
    expect(rest.slice(1)).toEqual([
      '1 unknown outcome may have cost at most $0.007.',
      'Every difference is explained.',
    ]);
  });

  it('ends with exit code 1 where another program uses the key', async () => {
    service.bill.charge(KEY, day(1), 'answer', 100, 500_000);
    const { run, out } = compare([line(day(2), 21_000)]);
    expect(await run()).toBe(1);
    expect(out()).toContain('A difference is not explained. Other programs with the same key');
    const json = compare([line(day(2), 21_000)], {}, true);
    expect(await json.run()).toBe(1);
    expect(JSON.parse(json.out())).toMatchObject({
      ...{ kind: 'reconciliation', agrees: false },
      days: [
        {},
        { journalDollars: 0.021, serviceDollars: 0.021, unexplainedDollars: 0 },
        { unexplainedDollars: 0.5 },
        {},
      ],
      total: { journalDollars: 0.021, serviceDollars: 0.521, differenceDollars: 0.5, unexplainedDollars: 0.5 },
    });
  });

  it('refuses the bill of another key', async () => {
    service.bill.change = (answer) => ({ ...answer, api_key_id: 'ANOTHER' });
    await expect(compare([]).run()).rejects.toThrow(
      `the service answered for the API key ANOTHER instead of ${service.bill.idOf(KEY)}`,
    );
  });

  it('says at the first lost connection that it tries again, and gives up', async () => {
    let connections = 0;
    const closing = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    const url = await listen(closing);
    onTestFinished(() => void closing.close());
    const { run, err } = compare([], { SEARCHFLOW_BILL_URL: url });
    await expect(run({ since: day(0) })).rejects.toThrow('/team-management/api-keys/{id}/usage');
    expect(err().match(/The bill cannot be read yet, trying again: /g)).toHaveLength(1);
    expect(connections).toBe(3);
  });

  it('adds up the keys of a team, and shows the bill of each key', async () => {
    service.bill.charge('second key', day(1), 'search', 1, 7000);
    const ids = `${service.bill.idOf(KEY)}, ${service.bill.idOf('second key')}`;
    const { run, out } = compare([line(day(2), 21_000), line(day(1), 507_000)], { SEARCHFLOW_KEY_ID: ids });
    expect(await run()).toBe(0);
    const [, head, , later, total] = out().trimEnd().split('\n');
    expect(head).toContain(service.bill.idOf('second key'));
    expect([later, total].map((row) => row?.split(/ +/).at(-1))).toEqual(['$0.007', '$0.007']);
  });

  it('says what is missing, with exit code 2, before it opens the store', async () => {
    const missing = { SEARCHFLOW_SERVICE_KEY: undefined, SEARCHFLOW_KEY_ID: undefined, SEARCHFLOW_BILL_URL: undefined };
    const { run } = compare([], missing);
    await expect(run()).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringMatching(
        /^SEARCHFLOW_SERVICE_KEY is not set\..*\nSEARCHFLOW_KEY_ID is not set\..*\nSEARCHFLOW_BILL_URL is not set\./,
      ),
    });
    const sandbox = compare([], { SEARCHFLOW_API_KEY: undefined, SEARCHFLOW_BASE_URL: undefined });
    await expect(sandbox.run()).rejects.toThrow('which has no bill at the service');
  });

  it('refuses days without a bill, another grouping and unusable settings together', async () => {
    const { run } = compare([], { SEARCHFLOW_KEY_ID: 'a b', SEARCHFLOW_SERVICE_KEY: 'with space' });
    const failed = await run({ since: '200d', by: 'operation' }).then(
      () => '',
      (error: Error) => error.message,
    );
    for (const text of [
      '--since: the service keeps its bill for 180 days',
      '--by operation',
      "SEARCHFLOW_KEY_ID: 'a b'",
    ])
      expect(failed).toContain(text);
    expect(failed).toContain('SEARCHFLOW_SERVICE_KEY: the value (not shown) (environment)');
    expect(failed).not.toContain('with space');
  });

  it('repeats a call that failed for a moment, and reports a refused key', async () => {
    service.next({ what: 'bill', how: 'status', status: 503 });
    const { run } = compare([line(day(2), 21_000), line(day(1), 500_000)]);
    expect(await run()).toBe(0);
    const refused = compare([], { SEARCHFLOW_SERVICE_KEY: 'another-service-key' });
    await expect(refused.run()).rejects.toMatchObject({ verdict: { type: 'Unauthorized' } });
  });

  it('does not compare days if the service answers for another period', async () => {
    service.bill.change = (answer) => ({
      ...answer,
      period: { start: '2026-01-01T00:00:00Z', end: '2026-01-31T23:59:59Z' },
    });
    await expect(compare([]).run()).rejects.toThrow('instead of the UTC day');
    service.bill.change = (answer) => ({ ...answer, total_cost_usd: 'much' });
    await expect(compare([]).run()).rejects.toThrow('total_cost_usd');
    service.bill.change = (answer) => ({ ...answer, period: null, cost_breakdown: null, new_field: 1 });
    expect(await compare([line(day(2), 21_000), line(day(1), 500_000)]).run()).toBe(0);
  });
});
