import { expect, it } from 'vitest';
import { batched } from '../../../src/warehouse/events/event-store.js';

/** A batched function that doubles numbers; each call waits until the test opens a gate. */
function doubling() {
  const served: (readonly number[])[] = [];
  const gates: { open(): void; fail(error: Error): void }[] = [];
  const ask = batched<number, number>(async (take) => {
    await new Promise<void>((resolve, reject) => gates.push({ open: resolve, fail: reject }));
    served.push(take());
    return take().map((one) => one * 2);
  });
  return { ask, served, gates };
}

it('batched serves all waiting requests at once, and later ones the next time', async () => {
  const { ask, served, gates } = doubling();
  const first = [ask(1), ask(2), ask(3)];
  expect(gates).toHaveLength(1);
  gates[0]?.open();
  expect(await Promise.all(first)).toEqual([2, 4, 6]);
  const then = ask(4);
  gates[1]?.open();
  expect(await then).toBe(8);
  expect(served).toEqual([[1, 2, 3], [4]]);
});

it('batched fails the requests of the failed batch, and no others', async () => {
  const { ask, gates } = doubling();
  const failed = Promise.allSettled([ask(1), ask(2)]);
  gates[0]?.fail(new Error('the file is open elsewhere'));
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const then = ask(3);
  gates[1]?.open();
  expect(await then).toBe(6);
});
