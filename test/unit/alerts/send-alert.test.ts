import { CancelledFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { verifyWebhook, WebhookRefused } from '../../../src/api/verify-webhook.js';
import { createSendAlert, postAlert } from '../../../src/worker/send-alert.js';
import { quiet } from '../../support/activities/activity-setting.js';
import { type Answer, silence, startReceiver, status } from '../../support/alerts/receiver.js';
import { alertSecret, madeAlert, settingsFor } from '../../support/alerts/settings.js';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Makes attempts to deliver an alert, as Temporal would. */
async function sending(first: Answer) {
  const receiver = await startReceiver(first);
  const said: string[] = [];
  const sendAlert = createSendAlert({ alerts: settingsFor(receiver.url), say: (text) => said.push(text) });
  const alert = madeAlert('Job brands-1 is done: 3 rows “ok”.');
  const delivery = { alert, receiver: 'webhook' } as const;
  /** The failure of an attempt that is made `after` ms after the first one; null: it was accepted. */
  const attempt = (
    attempt = 1,
    after = 0,
    environment = quiet({ attempt, scheduledTimestampMs: Date.now() - after }),
  ) =>
    environment.run(sendAlert, delivery).then(
      () => null,
      (error: { message: string; nonRetryable: boolean; nextRetryDelay: number }) => error,
    );
  return { receiver, alert, attempt, said };
}

it('a webhook has a signature that verifyWebhook accepts, and refuses with another secret or body', async () => {
  const { receiver, attempt, alert } = await sending(status(204));
  expect(await attempt()).toBeNull();
  const [{ body, headers }] = receiver.arrived as [(typeof receiver.arrived)[0]];
  const header = headers['searchflow-signature'];
  expect(verifyWebhook(body, header, alertSecret)).toEqual({ ...alert });
  expect(() => verifyWebhook(body, header, `${alertSecret}x`)).toThrow(WebhookRefused);
  expect(() => verifyWebhook(body.replace('brands', 'brand'), header, alertSecret)).toThrow(WebhookRefused);
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'searchflow-alert-id': alert.id });
});

it('waits double from 5 seconds to 30 minutes, and a receiver that refuses is reported once until it accepts', async () => {
  const { receiver, attempt, said } = await sending(status(500));
  const waits: number[] = [];
  for (const nth of [1, 2, 3, 20]) waits.push((await attempt(nth))?.nextRetryDelay ?? 0);
  [5000, 10_000, 20_000, 30 * MINUTE_MS].forEach((plain, nth) => {
    expect(waits[nth]).toBeGreaterThanOrEqual(plain * 0.75);
    expect(waits[nth]).toBeLessThanOrEqual(plain * 1.25);
  });
  expect(said).toEqual([
    'The webhook for alerts does not accept them (status 500). They are kept and tried again for 24 hours.',
  ]);
  receiver.answers(status(200));
  expect(await attempt()).toBeNull();
  receiver.answers(status(500));
  await attempt();
  expect(said).toHaveLength(2);
});

it('429 with Retry-After is obeyed, but not beyond the time of the last attempt', async () => {
  const { receiver, attempt } = await sending(status(429, { 'retry-after': '600' }));
  expect(await attempt()).toMatchObject({ nonRetryable: false, nextRetryDelay: 600_000 });
  receiver.answers(status(429, { 'retry-after': '1' }));
  expect((await attempt(20))?.nextRetryDelay).toBeGreaterThan(20 * MINUTE_MS);
  receiver.answers(status(429, { 'retry-after': '99999999' }));
  expect((await attempt(2, DAY_MS - MINUTE_MS))?.nextRetryDelay).toBeLessThanOrEqual(MINUTE_MS);
});

it('the last attempt is made after a day, and says how to send the alert again', async () => {
  const { attempt, alert, said } = await sending(status(404));
  expect(await attempt(50, DAY_MS + 1)).toMatchObject({ nonRetryable: true, message: 'webhook: status 404' });
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/^The alert job.done was not delivered to the webhook \(status 404\)/);
  expect(said[0]).toContain(`temporal workflow reset --type FirstWorkflowTask`);
  expect(said[0]).toContain(`--workflow-id searchflow-${alert.id}-webhook`);
});

it('an attempt that the end of its worker interrupts is repeated at once, even the last one, and nothing is said', async () => {
  const { receiver, attempt, said } = await sending(silence);
  const environment = quiet({ attempt: 9, scheduledTimestampMs: Date.now() - 2 * DAY_MS });
  const failed = attempt(9, 0, environment);
  await expect.poll(() => receiver.arrived.length).toBe(1);
  environment.cancel('WORKER_SHUTDOWN');
  const error = await failed;
  expect(error).not.toBeInstanceOf(CancelledFailure);
  expect(error).toMatchObject({ nonRetryable: false, nextRetryDelay: 1, message: 'webhook: interrupted' });
  expect(said).toEqual([]);
});

it.each([
  ['a redirect, which is not followed', status(307, { location: 'http://127.0.0.1:1/' }), '307: a redirect is not'],
  ['no answer', silence, 'no answer within 0.05 s'],
  ['a closed connection', ((response) => void response.socket?.destroy()) as Answer, 'the connection ended before'],
] as const)('%s is a failed attempt', async (_name, answer, error) => {
  const receiver = await startReceiver(answer);
  const { url, secret } = settingsFor(receiver.url);
  const sent = await postAlert(madeAlert(), { url: url as NonNullable<typeof url>, secret }, 50);
  expect(sent).toMatchObject({ ok: false, error: expect.stringContaining(error) });
});

it('an answer without an end is a delivery by its status, and is not read', async () => {
  let sent = 0;
  const { attempt } = await sending((response) => {
    response.writeHead(200);
    const piece = Buffer.alloc(1 << 16);
    const more = () => {
      while (!response.destroyed && response.write(piece)) sent += piece.length;
    };
    response.on('drain', more);
    more();
  });
  expect(await attempt()).toBeNull();
  expect(sent).toBeLessThan(50_000_000);
});

it('neither address nor secret is in an error or a sentence', async () => {
  const { attempt, receiver, said } = await sending(status(500));
  await receiver.close();
  const error = (await attempt()) as unknown as Error & object;
  const shown = `${error.message}${error.stack}${JSON.stringify([said, error])}`;
  expect(shown).toContain('connection refused');
  for (const secret of ['secret-of-the-hook', '127.0.0.1', alertSecret]) expect(shown).not.toContain(secret);
});
