import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/activities/purchase/purchase-request.js';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { answered, good, newDir, setting, success, unit, units } from '../../support/activities/purchase-setting.js';

const portal = (body = '<html>Sign in</html>') =>
  new ApiError({
    endpoint: contentsEndpoint,
    facts: { ...answered(200), unrecognized: true },
    reason: 'the answer is not JSON',
    body,
  });
const unrecognized = { name: 'ServiceUnrecognized', message: expect.stringContaining('not JSON') };

describe('fault 57: answers that do not come from the service', () => {
  it('are unknown outcomes, and a unit fails after three if other requests were answered between them', async () => {
    const s = await setting();
    let others = 100;
    const send = async () => {
      await s.buy(good, { units: units(1, others++) });
      throw portal();
    };
    const receipt = await s.buy(send, { units: units(1) });
    expect(receipt).toMatchObject({ complete: true, failed: 1, unknownOutcomes: 3 });
    expect(s.sent.filter(([name]) => name === 'u0')).toHaveLength(3);
    expect((await s.journal.totals('')).unknown).toHaveLength(3);
    const [landed] = await s.journal.lookup([unit('u0').key]);
    expect(landed).toMatchObject({ status: 'error', errorTag: 'UNKNOWN_OUTCOME' });
  });

  it('pause after three of them for a unit if no other request was answered meanwhile', async () => {
    const s = await setting();
    await expect(s.buy(() => Promise.reject(portal()))).rejects.toMatchObject(unrecognized);
    expect(s.sent).toHaveLength(3);
    expect(await s.journal.lookup(units(3).map(({ key }) => key))).toEqual([]);
  });

  it('stop all purchases after ten in a row; a resume sends one call at a time', async () => {
    const s = await setting();
    const buy = (resumedAt: number) =>
      s.buy(() => Promise.reject(portal()), { units: units(30), unitsPerRequest: 1, resumedAt });
    await expect(buy(0)).rejects.toMatchObject(unrecognized);
    const before = s.sent.length;
    expect(before).toBeGreaterThanOrEqual(10);
    await expect(buy(0)).rejects.toMatchObject(unrecognized);
    expect(s.sent).toHaveLength(before);
    await expect(buy(Date.now() + 1)).rejects.toMatchObject(unrecognized);
    expect(s.sent).toHaveLength(before + 1);
  });

  it('make the next process send one call before all the others', async () => {
    const dir = newDir();
    const first = await setting(dir);
    const each = { units: units(20), unitsPerRequest: 1 };
    await first.buy(() => Promise.reject(portal()), each).catch(() => undefined);
    await first.journal.close();
    const next = await setting(dir);
    const send = async (batch: readonly Unit[]) => {
      if (next.sent.length > 1) expect(next.health.successes).toBeGreaterThan(0);
      await new Promise(setImmediate);
      return success(batch);
    };
    expect(await next.buy(send, each)).toMatchObject({ complete: true, bought: 20 });
  });

  it('are kept in the journal, up to 64 KiB of each', async () => {
    const dir = newDir();
    const s = await setting(dir);
    const send = async (batch: Parameters<typeof success>[0]) => {
      if (s.sent.length === 1) throw portal(`<b>${'ü'.repeat(100_000)}`);
      return success(batch);
    };
    expect(await s.buy(send)).toMatchObject({ bought: 3, unknownOutcomes: 1 });
    await s.journal.close();
    const [line] = readFileSync(join(dir, 'job', 'gen', '000000.journal'), 'utf8').match(/\{"t":"miss".*/) ?? [];
    const { came } = JSON.parse(line as string) as { came: string };
    expect(came).toContain('<b>üüü');
    expect(Buffer.byteLength(came)).toBeLessThanOrEqual(65_538);
  });
});
