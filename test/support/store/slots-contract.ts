import { describe, expect, it } from 'vitest';
import type { Slots } from '../../../src/core/limiter/slots.js';

/** The contract that all implementations of slots must meet. `open` makes the slots of a team, all of them free. */
export function slotsContract(name: string, open: (limit: number) => Promise<Slots>): void {
  describe(`${name} as slots`, () => {
    it('gives out only existing slots, and the next one to the longest waiting owner', async () => {
      const slots = await open(2);
      await slots.take('a');
      await slots.take('b');
      const order: string[] = [];
      const waiting = ['c', 'd', 'e'].map((owner) => slots.take(owner).then(() => order.push(owner)));
      await slots.free('nobody');
      expect(await slots.view()).toMatchObject({ limit: 2, held: 2, elsewhere: 0 });
      expect(order).toEqual([]);
      for (const [index, freed] of ['a', 'b', 'c'].entries()) {
        await slots.free(freed);
        await waiting[index];
        expect(order).toHaveLength(index + 1);
        expect((await slots.view()).held).toBe(2);
      }
      expect(order).toEqual(['c', 'd', 'e']);
      expect((await slots.owners()).map(({ owner }) => owner)).toEqual(['d', 'e']);
      await slots.close();
    });

    it('gives an owner the slot that it already has', async () => {
      const slots = await open(1);
      await slots.take('a');
      await slots.name('a', 'run-1');
      await slots.take('a');
      await Promise.all([slots.take('a'), slots.take('a')]);
      expect(await slots.view()).toMatchObject({ held: 1, waiting: 0 });
      const [held] = await slots.owners();
      expect(held).toMatchObject({ owner: 'a', runId: 'run-1' });
      expect(Math.abs(Date.now() - (held?.takenAt ?? 0))).toBeLessThan(10_000);
      await slots.free('a');
      await slots.free('a');
      expect(await slots.owners()).toEqual([]);
      await slots.close();
    });

    it('has a slot for a run that already exists, free or not, and gives out the next one when enough are free', async () => {
      const slots = await open(1);
      await slots.take('a');
      await slots.name('b', 'run-b');
      await slots.take('b');
      expect(await slots.view()).toMatchObject({ limit: 1, held: 2 });
      const waiting = slots.take('c').then(() => 'c');
      await slots.free('a');
      expect(await slots.view()).toMatchObject({ held: 1 });
      await slots.free('b');
      expect(await waiting).toBe('c');
      expect((await slots.owners()).map(({ owner }) => owner)).toEqual(['c']);
      await slots.close();
    });

    it('removes a cancelled waiter, and serves the next', async () => {
      const slots = await open(1);
      await slots.take('a');
      const stop = new AbortController();
      const first = slots.take('b', stop.signal);
      const second = slots.take('c');
      stop.abort(new Error('stopped'));
      await expect(first).rejects.toThrow('stopped');
      await expect(slots.take('d', stop.signal)).rejects.toThrow('stopped');
      await slots.free('a');
      await second;
      expect((await slots.owners()).map(({ owner }) => owner)).toEqual(['c']);
      await slots.close();
    });

    it('counts runs that the service lists and no owner here holds, until they are no longer listed', async () => {
      const slots = await open(3);
      await slots.take('a');
      await slots.name('a', 'run-a');
      const asOf = Date.now();
      await slots.note(['run-a', 'other-1', 'other-2', 'other-2'], asOf);
      expect(await slots.view()).toMatchObject({ held: 1, elsewhere: 2 });
      const waiting = slots.take('b');
      await slots.note([], asOf - 60_000);
      expect((await slots.view()).elsewhere).toBe(2);
      await slots.note(['other-2'], asOf + 1000);
      await waiting;
      expect(await slots.view()).toMatchObject({ held: 2, elsewhere: 1 });
      expect((await slots.owners()).map(({ owner }) => owner)).toEqual(['a', 'b']);
      await slots.close();
    });

    it('matches a run that an owner names later with the listed one', async () => {
      const slots = await open(2);
      await slots.take('a');
      await slots.note(['run-a'], Date.now());
      expect(await slots.view()).toMatchObject({ held: 1, elsewhere: 1 });
      const waiting = slots.take('b');
      await slots.name('a', 'run-a');
      await waiting;
      expect(await slots.view()).toMatchObject({ held: 2, elsewhere: 0 });
      await slots.close();
    });

    it('does not count a run that ended while the list was read, whatever the length of its id', async () => {
      const slots = await open(1);
      const asOf = Date.now() - 5_000;
      const run = Array.from({ length: 5000 }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000))).join(
        '',
      );
      await slots.take('a');
      await slots.name('a', run);
      await slots.free('a');
      await slots.note([run], asOf);
      expect((await slots.view()).elsewhere).toBe(0);
      await slots.take('b');
      await slots.close();
    });

    it('rejects all waiters when it is closed', async () => {
      const slots = await open(1);
      await slots.take('a');
      const waiting = slots.take('b');
      const closed = expect(waiting).rejects.toThrow('closed');
      await slots.close();
      await closed;
    });
  });
}
