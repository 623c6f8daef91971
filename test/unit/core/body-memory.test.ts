import { expect, it } from 'vitest';
import { BodyMemory } from '../../../src/core/purchase/body-memory.js';

const mega = 1_048_576;

it('the memory of bodies reuses released memory, by any view of it, and never twice', () => {
  const memory = new BodyMemory();
  const first = memory.take(100_000);
  expect(first.length).toBeGreaterThanOrEqual(100_000);
  memory.giveBack(first.subarray(10, 20));
  memory.giveBack(first);
  const [again, other] = [memory.take(90_000), memory.take(90_000)];
  expect(again.buffer).toBe(first.buffer);
  expect(other.buffer).not.toBe(first.buffer);
});

it('the memory of bodies takes no memory for a body that is far too large or too small', () => {
  const memory = new BodyMemory();
  const large = memory.take(10 * mega);
  memory.giveBack(large);
  expect(memory.take(1000).buffer).not.toBe(large.buffer);
  expect(memory.take(11 * mega).buffer).not.toBe(large.buffer);
  expect(memory.take(9 * mega).buffer).toBe(large.buffer);
});

it('the memory of bodies accepts only its own memory', () => {
  const memory = new BodyMemory();
  const strange = Buffer.alloc(65_536);
  memory.giveBack(strange);
  expect(memory.take(65_536).buffer).not.toBe(strange.buffer);
});

it('the memory of bodies keeps at most 16 MB, and nothing after a release', () => {
  const memory = new BodyMemory();
  const taken = Array.from({ length: 5 }, () => memory.take(5 * mega));
  for (const one of taken) memory.giveBack(one);
  const again = new Set(Array.from({ length: 5 }, () => memory.take(5 * mega).buffer));
  expect(taken.filter(({ buffer }) => again.has(buffer))).toHaveLength(3);
  const last = memory.take(mega);
  memory.giveBack(last);
  memory.clear();
  expect(memory.take(mega).buffer).not.toBe(last.buffer);
});
