import { describe, expect, it } from 'vitest';
import { limits, setLimits } from '../../../src/cli/limits.js';
import { rateProfiles } from '../../../src/core/limiter/rate.js';
import type { SpendCaps } from '../../../src/core/purchase/spend.js';
import { fakeContext, fakeRuntime, spend } from '../../support/cli/fake-runtime.js';
import { flagsOf } from '../../support/cli/read-flags.js';
import { idleView } from '../../support/idle-view.js';

const spent = { since: Date.UTC(2026, 10, 21), landedMicros: 4_000_000, openMicros: 900_000, unknownMicros: 100_000 };
const view = idleView(rateProfiles.public as (typeof rateProfiles)[string]);

function team(caps: SpendCaps, flags = {}) {
  const { runtime } = fakeRuntime({
    limits: async () => ({
      ...view,
      blockedUntil: Date.now() + 45_500,
      blockedSince: Date.UTC(2026, 10, 21),
      blockReason: 'POST /contents: 429',
      waiting: 7,
    }),
    otherLimits: async () => [{ host: 'node-7', pid: 41 }],
    slots: async () => ({ limit: 50, held: 3, elsewhere: 2, leftRunning: 0, waiting: 1 }),
    spend: async () => ({
      ...spend,
      caps: async () => caps,
      setCaps: async () => Promise.reject(new Error('caps are set')),
      spent: async () => ({ day: spent, month: spent }),
    }),
  });
  return fakeContext(runtime, { flags });
}

describe('searchflow limits', () => {
  it('shows rate, block, slots and money with their limits', async () => {
    const { context, out } = team({ dayMicros: 20_000_000, monthMicros: null });
    expect(await limits(context, {})).toBe(0);
    expect(out()).toMatch(/^Shared by: +all processes of this user on this machine \(this key\)$/m);
    expect(out()).toMatch(/^Not shared by: worker 41 on node-7: it uses another API key with its own rate limit$/m);
    expect(out()).toMatch(
      /^Blocked: +until \S+Z \(\d\d s left\) since 2026-11-21T00:00:00\.000Z: POST \/contents: 429$/m,
    );
    expect(out()).toMatch(/^Waiting: +7 calls$/m);
    expect(out()).toMatch(/^Agent runs: +3 of 50 and 2 started elsewhere, 1 waiting$/m);
    expect(out()).toMatch(
      /^Spent today: +\$5\.00 of \$20\.00 \(25%\), including \$0\.90 in flight, \$0\.10 possibly charged \(unknown outcomes\)$/m,
    );
    expect(out()).toMatch(/^This month: +\$5\.00, no cap, including/m);
    expect(out()).toMatch(/^ {2}search\.deep +5\/s +5\/s +0\/s$/m);
  });

  it('lifts a block, and says which answer caused it and how a paused job continues', async () => {
    const calls: string[] = [];
    const { runtime } = fakeRuntime({
      limits: async () => ({
        ...view,
        blockedUntil: calls.length > 0 ? null : Date.UTC(2026, 10, 22),
        blockReason: '429',
      }),
      unblock: async () => calls.push('unblock') > 0,
    });
    const { context, out, err } = fakeContext(runtime);
    expect(await limits(context, { unblock: true })).toBe(0);
    expect(err()).toContain('The block until 2026-11-22T00:00:00.000Z was lifted (429).');
    expect(err()).toContain('\n  searchflow resume JOB');
    expect(out()).toMatch(/^Blocked: +no$/m);
    await limits(context, { unblock: true });
    expect(err()).toContain('There was no block to lift.');
  });

  it('says until when work waits in Temporal that could not be woken', async () => {
    const { runtime } = fakeRuntime({
      limits: async () => ({ ...view, blockedUntil: Date.UTC(2026, 10, 22), blockReason: '429' }),
      unblock: async () => false,
    });
    const { context, err } = fakeContext(runtime);
    await limits(context, { unblock: true });
    expect(err()).toContain(
      'could not be woken. It continues at 2026-11-22T00:00:00.000Z. To wake it:\n  searchflow limits --unblock\n',
    );
    expect(err()).not.toContain('within seconds');
  });

  it('names the runs that were left running, and the command that ends one', async () => {
    const { runtime } = fakeRuntime({
      slots: async () => ({ limit: 50, held: 51, elsewhere: 0, leftRunning: 51, waiting: 1 }),
    });
    const { context, out } = fakeContext(runtime);
    await limits(context, {});
    expect(out()).toMatch(
      /^Agent runs: +51 of 50, 1 waiting\nLeft running: +past --max-run-time; 51 runs keep their slots until they end\. To end one: searchflow agent cancel ID \(ids: searchflow agent list\)$/m,
    );
    const inJson = fakeContext(runtime, { flags: { json: true } });
    await limits(inJson.context, {});
    expect(JSON.parse(inJson.out())).toMatchObject({ slots: { held: 51, leftRunning: 51 } });
  });

  it('prints the same as one JSON object, with dollars as numbers', async () => {
    const { context, out } = team({ dayMicros: 20_000_000, monthMicros: null }, { json: true });
    await limits(context, {});
    expect(JSON.parse(out())).toMatchObject({
      kind: 'limits',
      profile: 'public',
      blockedUntil: expect.stringMatching(/Z$/),
      slots: { held: 3 },
      day: { landedDollars: 4, openDollars: 0.9, unknownDollars: 0.1, countedDollars: 5, capDollars: 20 },
      month: { capDollars: null },
    });
  });

  it('refuses invalid amounts, all mistakes together, and sets nothing', async () => {
    const { context } = team({ dayMicros: null, monthMicros: null });
    const { flags, mistakes } = flagsOf('limits set', { perDay: '-1', perMonth: '1e3' });
    const wrong = setLimits({ ...context, mistakes }, flags);
    await expect(wrong).rejects.toThrow(/^--per-day: '-1' .*\n--per-month: '1e3' /);
    await expect(setLimits(context, {})).rejects.toThrow('--per-day, --per-month or both');
  });
});
