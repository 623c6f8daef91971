import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Alert } from '../../../src/core/alerts/alert.js';
import type { AlertOutbox } from '../../../src/core/alerts/outbox.js';

const DAY_MS = 86_400_000;
const HOLD_MS = 60_000;

export const madeAlert = (text = 'The job is done.', createdAt = '2026-11-25T06:00:00.000Z'): Alert => ({
  ...{ id: `alert_${randomBytes(16).toString('hex')}`, type: 'job.done', createdAt, text, data: { job: 'brands-1' } },
});

/** The contract of every outbox. `open` makes an empty one; `pass` lets its clock advance. */
export function outboxContract(
  name: string,
  open: () => Promise<{ readonly outbox: AlertOutbox; pass(ms: number): Promise<void> }>,
): void {
  describe(`${name} as an outbox of alerts`, () => {
    it('delivers an alert once to each receiver, and lists it with its deliveries', async () => {
      const { outbox } = await open();
      const alert = madeAlert();
      expect(await outbox.add(alert, ['webhook', 'command'], DAY_MS)).toBe(true);
      expect(await outbox.add({ ...alert, text: 'again' }, ['webhook', 'command'], DAY_MS)).toBe(false);
      const due = await outbox.claim('webhook', 'me', HOLD_MS);
      expect(due).toMatchObject({ alert, receiver: 'webhook', attempts: 0 });
      expect(due?.leftMs).toBeGreaterThan(DAY_MS - 60_000);
      await outbox.record(due as never, 'me', { ok: true });
      expect(await outbox.claim('webhook', 'me', HOLD_MS)).toBeNull();
      const [kept] = await outbox.list(10);
      expect(kept?.alert).toEqual(alert);
      expect(kept?.deliveries.map(({ receiver, state, attempts }) => [receiver, state, attempts]).sort()).toEqual([
        ['command', 'waiting', 0],
        ['webhook', 'delivered', 1],
      ]);
      expect(await outbox.add(alert, ['webhook'], DAY_MS)).toBe(false);
      expect(await outbox.claim('webhook', 'me', HOLD_MS)).toBeNull();
    });

    it('lets only one of several processes attempt a delivery, until its claim has ended', async () => {
      const { outbox, pass } = await open();
      await outbox.add(madeAlert(), ['webhook'], DAY_MS);
      const claims = await Promise.all(['a', 'b', 'c'].map((owner) => outbox.claim('webhook', owner, HOLD_MS)));
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      expect(await outbox.claim('webhook', 'd', HOLD_MS)).toBeNull();
      await pass(HOLD_MS + 1000);
      const late = claims.find((claim) => claim !== null) as never;
      const due = await outbox.claim('webhook', 'd', HOLD_MS);
      expect(due).not.toBeNull();
      // The failure of the attempt whose claim has ended changes nothing.
      await outbox.record(late, ['a', 'b', 'c'][claims.indexOf(late)] as string, {
        ok: false,
        error: 'x',
        retryMs: null,
      });
      await outbox.record(due as never, 'd', { ok: true });
      expect((await outbox.list(1))[0]?.deliveries).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    });

    it('makes a failed delivery due again after its wait, and a released one at once', async () => {
      const { outbox, pass } = await open();
      await outbox.add(madeAlert(), ['webhook'], DAY_MS);
      const due = await outbox.claim('webhook', 'me', HOLD_MS);
      await outbox.release(due as never, 'me');
      expect(await outbox.claim('webhook', 'me', HOLD_MS)).toMatchObject({ attempts: 0 });
      await outbox.record(due as never, 'me', { ok: false, error: 'status 500', retryMs: 30_000 });
      expect(await outbox.claim('webhook', 'me', HOLD_MS)).toBeNull();
      expect((await outbox.list(1))[0]?.deliveries).toMatchObject([
        { state: 'waiting', attempts: 1, error: 'status 500' },
      ]);
      await pass(31_000);
      expect(await outbox.claim('webhook', 'other', HOLD_MS)).toMatchObject({ attempts: 1 });
    });

    it('keeps an alert that no attempt has delivered, until it is sent again', async () => {
      const { outbox } = await open();
      const alert = madeAlert();
      await outbox.add(alert, ['webhook'], DAY_MS);
      const due = await outbox.claim('webhook', 'me', HOLD_MS);
      await outbox.record(due as never, 'me', { ok: false, error: 'status 410', retryMs: null });
      expect(await outbox.claim('webhook', 'me', HOLD_MS)).toBeNull();
      expect((await outbox.list(1))[0]?.deliveries).toMatchObject([{ state: 'undelivered', error: 'status 410' }]);
      expect(await outbox.retry(['command'], DAY_MS)).toBe(0);
      expect(await outbox.retry(['webhook'], DAY_MS)).toBe(1);
      await outbox.record((await outbox.claim('webhook', 'me', HOLD_MS)) as never, 'me', { ok: true });
      expect((await outbox.list(1))[0]?.deliveries).toMatchObject([{ state: 'delivered', attempts: 2, error: null }]);
      expect(await outbox.retry(['webhook'], DAY_MS)).toBe(0);
    });

    it('claims the oldest alert first, and lists the newest first', async () => {
      const { outbox } = await open();
      const [old, young] = [
        madeAlert('old', '2026-11-25T06:00:00.000Z'),
        madeAlert('young', '2026-11-25T07:00:00.000Z'),
      ];
      await outbox.add(old, ['webhook'], DAY_MS);
      await outbox.add(young, ['webhook'], DAY_MS);
      expect((await outbox.claim('webhook', 'me', HOLD_MS))?.alert.text).toBe('old');
      expect((await outbox.list(10)).map(({ alert }) => alert.text)).toEqual(['young', 'old']);
      expect((await outbox.list(1)).map(({ alert }) => alert.text)).toEqual(['young']);
    });

    it('removes old alerts whose deliveries have ended, and no others', async () => {
      const { outbox, pass } = await open();
      await outbox.add(madeAlert('ended'), ['webhook'], DAY_MS);
      await outbox.record((await outbox.claim('webhook', 'me', HOLD_MS)) as never, 'me', { ok: true });
      await outbox.add(madeAlert('waiting'), ['webhook'], DAY_MS);
      await outbox.prune(DAY_MS);
      expect(await outbox.list(10)).toHaveLength(2);
      await pass(2 * DAY_MS);
      await outbox.prune(DAY_MS);
      expect((await outbox.list(10)).map(({ alert }) => alert.text)).toEqual(['waiting']);
    });
  });
}
