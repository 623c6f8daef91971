import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { verifyWebhook, WebhookRefused } from '../../../src/api/verify-webhook.js';
import { FileOutbox } from '../../../src/store/file/file-outbox.js';
import { AlertSender, type AlertTimes } from '../../../src/worker/alerts/alert-sender.js';
import { madeAlert } from '../../support/alerts/outbox-contract.js';
import { type Answer, silence, startReceiver, status } from '../../support/alerts/receiver.js';
import { alertSecret, quickTimes, settingsFor } from '../../support/alerts/settings.js';

const home = mkdtempSync(join(tmpdir(), 'searchflow-sender-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

let opened = 0;
/** An outbox with one alert, whose clock the test sets, and a sender to a receiver. */
async function sending(first: Answer, times: Partial<AlertTimes> = {}) {
  const receiver = await startReceiver(first);
  let now = Date.now();
  const outbox = new FileOutbox(join(home, String(++opened)), () => now);
  const alert = madeAlert('Job brands-1 is done: 3 rows “ok”.');
  const all = { ...quickTimes, ...times };
  await outbox.add(alert, ['webhook'], all.forMs);
  const said: string[] = [];
  const sender = new AlertSender(outbox, settingsFor(receiver.url), (sentence) => said.push(sentence), all);
  return {
    ...{ receiver, outbox, alert, sender, said },
    pass: (ms: number) => {
      now += ms;
    },
    delivery: async () => (await outbox.list(1))[0]?.deliveries[0],
  };
}

it('a webhook has a signature that verifyWebhook accepts, and refuses with another secret or body', async () => {
  const { receiver, sender, alert } = await sending(status(204));
  expect(await sender.sendDue()).toEqual({ delivered: 1, failed: 0 });
  const [{ body, headers }] = receiver.arrived as [(typeof receiver.arrived)[0]];
  const header = headers['searchflow-signature'];
  expect(verifyWebhook(body, header, alertSecret)).toEqual({ ...alert });
  expect(() => verifyWebhook(body, header, `${alertSecret}x`)).toThrow(WebhookRefused);
  expect(() => verifyWebhook(body.replace('brands', 'brand'), header, alertSecret)).toThrow(WebhookRefused);
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'searchflow-alert-id': alert.id });
  expect(await sender.sendDue()).toEqual({ delivered: 0, failed: 0 });
  expect(receiver.arrived).toHaveLength(1);
});

it('a receiver that is down for an hour gets the alert when it is up again, once', async () => {
  const { receiver, sender, outbox, pass, delivery, said } = await sending(status(200), {
    firstWaitMs: 5000,
    mostWaitMs: 1_800_000,
  });
  await receiver.close();
  let attempts = 0;
  for (let passed = 0; passed < 3_600_000; passed += 5000) {
    attempts += (await sender.sendDue()).failed;
    pass(5000);
  }
  // The waits double, so an hour has few attempts.
  expect(attempts).toBeGreaterThan(7);
  expect(attempts).toBeLessThan(15);
  expect(await delivery()).toMatchObject({ state: 'waiting', attempts, error: 'connection refused' });
  expect(said).toEqual([expect.stringContaining('does not accept them (connection refused)')]);
  await receiver.open();
  pass(3_600_000);
  expect(await sender.sendDue()).toEqual({ delivered: 1, failed: 0 });
  expect(receiver.arrived).toHaveLength(1);
  expect((await outbox.list(1))[0]?.deliveries).toMatchObject([
    { state: 'delivered', attempts: attempts + 1, error: null },
  ]);
});

it('each attempt is signed with its own time, so that a late one is not too old', async () => {
  const { receiver, sender, pass } = await sending((response, nth) => status(nth < 3 ? 500 : 200)(response, nth));
  for (let nth = 0; nth < 4; nth++) {
    await sender.sendDue();
    pass(1000);
  }
  expect(receiver.arrived).toHaveLength(3);
  for (const { body, headers } of receiver.arrived)
    expect(verifyWebhook(body, headers['searchflow-signature'], alertSecret).id).toBe(receiver.arrived[0]?.alert.id);
});

it('429 with Retry-After is obeyed, but not beyond the time of the last attempt', async () => {
  const { receiver, sender, pass, delivery } = await sending(status(429, { 'retry-after': '600' }));
  await sender.sendDue();
  pass(599_000);
  expect(await sender.sendDue()).toEqual({ delivered: 0, failed: 0 });
  receiver.answers(status(429, { 'retry-after': '99999999' }));
  pass(2000);
  expect(await sender.sendDue()).toEqual({ delivered: 0, failed: 1 });
  expect(await delivery()).toMatchObject({ state: 'waiting', error: 'status 429' });
  pass(86_400_000);
  await sender.sendDue();
  expect(await delivery()).toMatchObject({ state: 'undelivered', attempts: 3, nextAt: null });
  expect(receiver.arrived).toHaveLength(3);
});

it.each([
  ['a status 500', status(500), 'status 500'],
  [
    'a redirect, which is not followed',
    status(307, { location: 'http://127.0.0.1:1/' }),
    '307: a redirect is not followed',
  ],
  ['no answer', silence, 'no answer within 0.05 s'],
  [
    'a closed connection',
    ((response) => void response.socket?.destroy()) as Answer,
    'the connection ended before the answer',
  ],
] as const)('%s is a failed attempt', async (_name, answer, error) => {
  const { sender, delivery } = await sending(answer, { webhookMs: 50 });
  expect(await sender.sendDue()).toEqual({ delivered: 0, failed: 1 });
  expect((await delivery())?.error).toContain(error);
});

it('an answer without an end is a delivery by its status, and is not read', async () => {
  let sent = 0;
  const { sender } = await sending((response) => {
    response.writeHead(200);
    const piece = Buffer.alloc(1 << 16);
    const more = () => {
      while (!response.destroyed && response.write(piece)) sent += piece.length;
    };
    response.on('drain', more);
    more();
  });
  expect(await sender.sendDue()).toEqual({ delivered: 1, failed: 0 });
  expect(sent).toBeLessThan(50_000_000);
});

it('after the last attempt an alert is kept as undelivered, and says so once', async () => {
  const { sender, outbox, pass, delivery, said } = await sending(status(404));
  await sender.sendDue();
  pass(86_400_001);
  await sender.sendDue();
  expect(await delivery()).toMatchObject({ state: 'undelivered', error: 'status 404' });
  pass(86_400_000);
  expect(await sender.sendDue()).toEqual({ delivered: 0, failed: 0 });
  expect(said[1]).toContain('searchflow alerts retry');
  expect(await outbox.retry(['webhook'], 1000)).toBe(1);
});

it('closing does not wait for a receiver that does not answer, and leaves the alert to the next worker', async () => {
  const { sender, receiver, outbox, delivery } = await sending(silence, { webhookMs: 60_000 });
  sender.start();
  await expect.poll(() => receiver.arrived.length).toBe(1);
  const closed = sender.close(50).then(() => 'closed');
  expect(await closed).toBe('closed');
  expect(await delivery()).toMatchObject({ state: 'waiting', attempts: 0, error: null });
  receiver.answers(status(200));
  const next = new AlertSender(outbox, settingsFor(receiver.url), () => undefined, quickTimes);
  expect(await next.sendDue()).toEqual({ delivered: 1, failed: 0 });
});

it('neither address nor secret is in an error or a sentence', async () => {
  const { sender, receiver, outbox, said } = await sending(status(500));
  await receiver.close();
  await sender.sendDue();
  const shown = JSON.stringify([said, await outbox.list(10)]);
  expect(shown).not.toContain('secret-of-the-hook');
  expect(shown).not.toContain('127.0.0.1');
  expect(shown).not.toContain(alertSecret);
});
