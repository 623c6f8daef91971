import { expect, it } from 'vitest';
import { MemorySlots } from '../../../src/store/limiter/memory-slots.js';
import { slotsContract } from '../../support/store/slots-contract.js';

slotsContract('MemorySlots', async (limit) => new MemorySlots(limit));

it('a team has fifty slots by default', async () => {
  expect((await new MemorySlots().view()).limit).toBe(50);
});
