import { expect, it } from 'vitest';
import { alerts, retryAlerts, testAlerts } from '../../../src/cli/team/alerts.js';
import type { Delivery, KeptAlert } from '../../../src/core/alerts/outbox.js';
import type { AlertsView } from '../../../src/worker/alerts/alerts-view.js';
import { madeAlert } from '../../support/alerts/outbox-contract.js';
import { fakeContext, fakeRuntime } from '../../support/cli/fake-runtime.js';

const at = Date.parse('2026-11-25T06:00:01Z');
const delivery = (changes: Partial<Delivery> = {}): Delivery => ({
  ...{ receiver: 'webhook', state: 'delivered', attempts: 1, nextAt: null, until: at, error: null, endedAt: at },
  ...changes,
});
const kept: readonly KeptAlert[] = [
  {
    alert: madeAlert('Job new\u001b[31m is done.', '2026-11-25T07:00:00.000Z'),
    deliveries: [delivery({ state: 'waiting', attempts: 2, nextAt: at, error: 'status 500', endedAt: null })],
  },
  {
    alert: madeAlert('Job old is done.'),
    deliveries: [
      delivery(),
      delivery({ receiver: 'command', state: 'undelivered', attempts: 12, error: 'exit code 3' }),
    ],
  },
  { alert: madeAlert('Job oldest is done.', '2026-11-24T06:00:00.000Z'), deliveries: [delivery()] },
];

function commanded(changes: Partial<AlertsView> = {}) {
  const view: AlertsView = {
    list: async (most) => kept.slice(0, most),
    test: async () => [{ receiver: 'webhook', error: null }],
    retry: async () => ({ delivered: 0, failed: 0 }),
    ...changes,
  };
  return fakeContext(fakeRuntime({ alerts: view }).runtime);
}

it('lists alerts with the newest last, and the state of each delivery', async () => {
  const { context, out } = commanded();
  expect(await alerts(context, {})).toBe(0);
  expect(out().trimEnd().split('\n')).toEqual([
    '2026-11-24 06:00:00Z  job.done  webhook: delivered 2026-11-25 06:00:01Z',
    '  Job oldest is done.',
    '2026-11-25 06:00:00Z  job.done  webhook: delivered 2026-11-25 06:00:01Z; command: undelivered after 12 attempts (exit code 3)',
    '  Job old is done.',
    '2026-11-25 07:00:00Z  job.done  webhook: waiting, next attempt 2026-11-25 06:00:01Z (status 500)',
    expect.not.stringContaining('\u001b'),
  ]);
});

it('--undelivered leaves out alerts that every receiver has accepted; --json has every field', async () => {
  const { context, out } = commanded();
  expect(await alerts(context, { undelivered: true, json: true, limit: '2' })).toBe(0);
  const { kind, alerts: shown } = JSON.parse(out());
  expect(kind).toBe('alerts');
  expect(shown.map(({ text }: { text: string }) => text)).toEqual([kept[0]?.alert.text, 'Job old is done.']);
  expect(shown[1].deliveries).toEqual([
    {
      ...{ receiver: 'webhook', state: 'delivered', attempts: 1, error: null, nextAt: null },
      ...{ until: '2026-11-25T06:00:01.000Z', endedAt: '2026-11-25T06:00:01.000Z' },
    },
    expect.objectContaining({ receiver: 'command', state: 'undelivered', error: 'exit code 3' }),
  ]);
});

it('says that there is no receiver where the list is empty for this reason', async () => {
  const { context, err } = commanded({ list: async () => [] });
  expect(await alerts(context, {})).toBe(0);
  expect(err()).toContain('SEARCHFLOW_ALERT_URL');
});

it.each(['0', '1001', 'ten', '-1'])('--limit %s is refused', async (limit) => {
  const { context } = commanded();
  await expect(alerts(context, { limit })).rejects.toThrow('must be a whole number from 1 to 1000');
});

it('alerts test prints a line for each receiver, and fails if one does not accept the alert', async () => {
  const { context, out } = commanded({
    test: async () => [
      { receiver: 'webhook', error: null },
      { receiver: 'command', error: 'the program ended with exit code 3' },
    ],
  });
  expect(await testAlerts(context, {})).toBe(1);
  expect(out()).toBe(
    'webhook: accepted the test alert\ncommand: did not accept the test alert: the program ended with exit code 3\n',
  );
  const json = commanded();
  expect(await testAlerts(json.context, { json: true })).toBe(0);
  expect(JSON.parse(json.out())).toEqual({ kind: 'alertTest', receivers: [{ receiver: 'webhook', error: null }] });
});

it('alerts retry counts deliveries and failed attempts, and fails if one attempt failed', async () => {
  const failed = commanded({ retry: async () => ({ delivered: 2, failed: 1 }) });
  expect(await retryAlerts(failed.context, {})).toBe(1);
  expect(failed.err()).toContain('Delivered: 2. Not accepted: 1.');
  const none = commanded();
  expect(await retryAlerts(none.context, { json: true })).toBe(0);
  expect(JSON.parse(none.out())).toEqual({ kind: 'alertRetry', delivered: 0, failed: 0 });
});
