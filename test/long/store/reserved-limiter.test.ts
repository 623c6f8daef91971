import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { ReservedLimiter } from '../../../src/store/limiter/reserved-limiter.js';
import { reserveLimit } from '../../../src/worker/team/limit-owner.js';
import { folderOfTest } from '../../support/files/folders.js';
import { limiterContract, mostInASecond, pass } from '../../support/store/limiter-contract.js';

limiterContract('ReservedLimiter', async () => {
  const reservation = { take: async () => ({ usedByOthers: false }), release: async () => undefined };
  return new ReservedLimiter(new MemoryLimiter(flatProfile(20)), reservation, () => undefined);
});

describe('the limit of a key that two folders use', () => {
  function folders() {
    const userStateDir = folderOfTest();
    const said: string[] = [];
    const whose = { userStateDir, origin: 'https://service.example', apiKey: new Secret('key'), rateIsShare: false };
    const open = () => {
      const reservation = reserveLimit(whose);
      if (!reservation) throw new Error('no reservation');
      const limiter = new ReservedLimiter(new MemoryLimiter(flatProfile(20)), reservation, (text) => said.push(text));
      return Object.assign(limiter, { reservation });
    };
    const [a, b] = [open(), open()];
    onTestFinished(async () => {
      await a.close();
      await b.close();
    });
    return { a, b, said };
  }

  it('is free for the other while one sends nothing, and both together stay within it', async () => {
    const { a, b, said } = folders();
    const starts: number[] = [];
    for (const one of [a, b, a]) for (let n = 0; n < 10; n++) starts.push(await pass(one));
    expect(mostInASecond(starts.map((at) => ({ at, weight: 1 })))).toBeLessThanOrEqual(20);
    expect(said.every((text) => text.includes('uses from another folder'))).toBe(true);
  }, 30_000);

  it('is waited for with a message while the other sends, and a cancelled call waits no longer', async () => {
    const { a, b, said } = folders();
    const sending = setInterval(() => void pass(a), 300);
    onTestFinished(() => clearInterval(sending));
    await pass(a);
    const first = pass(b);
    const stop = new AbortController();
    const second = b.acquire({ rateClass: 'default', weight: 1 }, stop.signal);
    await expect.poll(() => said, { timeout: 10_000 }).toHaveLength(1);
    expect(said[0]).toMatch(
      new RegExp(
        `^Waiting for the rate limit of this key at https://service.example, which another process \\(PID ${process.pid}\\) uses`,
      ),
    );
    expect(await b.view()).toMatchObject({ heldBy: expect.stringContaining('Give each a share with --qps') });
    stop.abort(new Error('given up'));
    await expect(second).rejects.toThrow('given up');
    clearInterval(sending);
    await first;
    expect((await b.view()).heldBy).toBeUndefined();
  }, 30_000);

  it('is reserved among the workers of other machines too, or waited for', async () => {
    const { a, b } = folders();
    let taken = 0;
    await a.reservation.alsoTake(async () => (taken++ === 0 ? { heldBy: 'another machine' } : async () => undefined));
    const passing = pass(a);
    await expect.poll(async () => (await a.view()).heldBy).toBe('another machine');
    // While `a` waits for the other machine, it holds no reservation on this machine, so `b` can start.
    await pass(b);
    await passing;
    expect(taken).toBe(2);
  }, 30_000);
});
