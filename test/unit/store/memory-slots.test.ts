import { expect, it, vi } from 'vitest';
import { MemorySlots } from '../../../src/store/limiter/memory-slots.js';
import { slotsContract } from '../../support/store/slots-contract.js';

slotsContract('MemorySlots', async (limit) => new MemorySlots(limit));

it('a team has fifty slots by default', async () => {
  expect((await new MemorySlots().view()).limit).toBe(50);
});

it('a slot keeps the time at which it was taken when its run is named', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1000 });
  const slots = new MemorySlots();
  await slots.take('a');
  vi.setSystemTime(9000);
  await slots.name('a', 'run 1');
  // A run without a slot gets one when it is named.
  await slots.name('b', 'run 2');
  expect(await slots.owners()).toEqual([
    { owner: 'a', runId: 'run 1', takenAt: 1000 },
    { owner: 'b', runId: 'run 2', takenAt: 9000 },
  ]);
  vi.useRealTimers();
});
