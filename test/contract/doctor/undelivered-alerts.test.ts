import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AlertOutbox } from '../../../src/core/alerts/outbox.js';
import { FileOutbox } from '../../../src/store/alerts/file-outbox.js';
import { PgOutbox } from '../../../src/store/alerts/pg-outbox.js';
import { examine } from '../../../src/worker/doctor/examine.js';
import { madeAlert } from '../../support/alerts/outbox-contract.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';

let stores: PgStores;
beforeAll(async () => {
  stores = await startPgStores();
});
afterAll(() => stores.stop());

/** An outbox, and the settings with which `doctor` finds it. */
const places: readonly [string, (dir: string) => Promise<{ outbox: AlertOutbox; env: Record<string, string> }>][] = [
  ['a state folder', async (dir) => ({ outbox: new FileOutbox(join(dir, '.searchflow', 'alerts')), env: {} })],
  [
    'a store',
    async () => {
      const url = stores.url();
      return { outbox: new PgOutbox(await stores.connect(url)), env: { SEARCHFLOW_STORE: url } };
    },
  ],
];

it.each(places)(
  'doctor names the alerts of %s that no receiver accepted, and how to send them again',
  async (_, open) => {
    const dir = mkdtempSync(join(tmpdir(), 'searchflow-doctor-alerts-'));
    try {
      const { outbox, env } = await open(dir);
      const find = () =>
        examine({ cwd: dir, env: { HOME: dir, SEARCHFLOW_ALERT_COMMAND: 'true', ...env } }, ['alerts']).then((found) =>
          found.filter(({ check }) => check === 'alerts'),
        );
      expect(await find()).toMatchObject([
        { level: 'ok', text: 'No alert waits for its receiver. Only `searchflow alerts test` tries the receivers.' },
      ]);
      await outbox.add({ ...madeAlert('on its way'), createdAt: new Date().toISOString() }, ['command'], 60_000);
      expect(await find()).toMatchObject([
        {
          level: 'ok',
          text: '1 alert waits for its receiver, for less than 5 minutes. Only `searchflow alerts test` tries the receivers.',
        },
      ]);
      const late = { ...madeAlert('late'), createdAt: '2026-01-02T03:04:05.678Z' };
      await outbox.add(late, ['webhook'], 60_000);
      expect(await find()).toMatchObject([
        {
          level: 'warning',
          text: '1 alert is not delivered, the oldest since 2026-01-02 03:04:05Z.',
          mend: 'A worker delivers alerts. To deliver them now:',
          command: 'searchflow alerts retry',
        },
      ]);
      const due = await outbox.claim('webhook', 'me', 60_000);
      if (due === null) throw new Error('The alert is not due.');
      await outbox.record(due, 'me', { ok: false, error: 'status 503', retryMs: null });
      expect(await find()).toMatchObject([
        {
          text: '1 alert is not delivered, the oldest since 2026-01-02 03:04:05Z (webhook: status 503).',
          mend: expect.stringContaining('searchflow alerts --undelivered'),
        },
      ]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
);

it('doctor makes no folder for alerts, and says nothing about them without a receiver', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-doctor-alerts-'));
  try {
    const found = await examine({ cwd: dir, env: { HOME: dir } }, ['alerts']);
    expect(found.filter(({ check }) => check === 'alerts')).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
