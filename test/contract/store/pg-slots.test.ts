import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PgLimits, Postgres } from '../../../src/postgres/index.js';
import { PgSlots } from '../../../src/store/postgres/slots.js';
import { ofFile } from '../../support/of-file.js';
import { startPgStores } from '../../support/store/pg-store.js';
import { slotsContract } from '../../support/store/slots-contract.js';

const stores = ofFile(startPgStores);
let url: string;
let postgres: Postgres;
beforeAll(async () => {
  url = stores.url();
  postgres = await stores.connect(url);
});

slotsContract('PgSlots', async (limit) => new PgSlots({ postgres, team: randomUUID(), limit }));

describe('the slots on PostgreSQL', () => {
  it('are one set for all processes, which together never hold more', async () => {
    const team = randomUUID();
    const processes = await Promise.all(
      [0, 1, 2].map(async () => new PgSlots({ postgres: await stores.connect(url), team, limit: 4 })),
    );
    let holding = 0;
    let most = 0;
    await Promise.all(
      processes.flatMap((slots, by) =>
        Array.from({ length: 8 }, async (_, index) => {
          const owner = `${by}-${index}`;
          await slots.take(owner);
          most = Math.max(most, ++holding);
          expect((await slots.owners()).length).toBeLessThanOrEqual(4);
          holding--;
          await slots.free(owner);
        }),
      ),
    );
    expect(most).toBe(4);
    for (const slots of processes) await slots.close();
  });

  it('go to the longest waiting owner, in any process', async () => {
    const team = randomUUID();
    const processes = [0, 1, 2].map(() => new PgSlots({ postgres, team, limit: 1 }));
    const [first, second, third] = processes as [PgSlots, PgSlots, PgSlots];
    await first.take('a');
    const order: string[] = [];
    const takes: Promise<unknown>[] = [];
    for (const [waits, [slots, owner]] of (
      [
        [third, 'b'],
        [second, 'c'],
        [first, 'd'],
      ] as const
    ).entries()) {
      takes.push(slots.take(owner).then(() => order.push(owner)));
      await expect.poll(async () => (await first.view()).waiting).toBe(waits + 1);
    }
    for (const [index, freed] of ['a', 'b', 'c'].entries()) {
      await first.free(freed);
      await takes[index];
    }
    expect(order).toEqual(['b', 'c', 'd']);
    for (const slots of processes) await slots.close();
  });

  it('stay taken when their process dies, until they are released', async () => {
    const team = randomUUID();
    const doomed = new PgSlots({ postgres: await stores.connect(url), team, limit: 1 });
    await doomed.take('a');
    await doomed.name('a', 'run-a');
    await doomed.close();
    const successor = new PgSlots({ postgres, team, limit: 1 });
    expect(await successor.owners()).toMatchObject([{ owner: 'a', runId: 'run-a' }]);
    await successor.take('a');
    const next = successor.take('b');
    await successor.free('a');
    await next;
    expect(await successor.owners()).toMatchObject([{ owner: 'b', runId: null }]);
    await successor.close();
  });

  it('are passed on although the notification is lost', async () => {
    const team = randomUUID();
    const deaf: Postgres = { ...postgres, listen: async () => async () => undefined };
    const [busy, waiter] = [new PgSlots({ postgres, team, limit: 1 }), new PgSlots({ postgres: deaf, team, limit: 1 })];
    await busy.take('a');
    const waiting = waiter.take('b');
    expect((await waiter.view()).held).toBe(1);
    await busy.free('a');
    await waiting;
    expect((await waiter.owners()).map(({ owner }) => owner)).toEqual(['b']);
    await Promise.all([busy.close(), waiter.close()]);
  });

  it('are not kept for a waiter that left while a slot was given to it', async () => {
    const team = randomUUID();
    let answered = () => {};
    const stop = new AbortController();
    const slow: Postgres = {
      ...postgres,
      query: async <R>(text: string, values?: readonly unknown[], limits?: PgLimits) => {
        const rows = await postgres.query<R>(text, values, limits);
        if (text.includes('slots_take') && !stop.signal.aborted) {
          stop.abort(new Error('left'));
          answered();
        }
        return rows;
      },
    };
    const slots = new PgSlots({ postgres: slow, team, limit: 1 });
    const freed = new Promise<void>((resolve) => {
      answered = resolve;
    });
    await expect(slots.take('a', stop.signal)).rejects.toThrow('left');
    await freed;
    await slots.take('b');
    expect((await slots.owners()).map(({ owner }) => owner)).toEqual(['b']);
    await slots.close();
  });
});
