import { expect, it } from 'vitest';
import { unlessAborted, WaitQueue } from '../../../src/core/processes/wait-queue.js';

const names = (queue: WaitQueue<string, number>) => [...queue].map(({ item }) => item);

it('a queue keeps the order of its waiters, and first goes before all others', () => {
  const queue = new WaitQueue<string, number>();
  for (const name of ['a', 'b']) void queue.wait(name);
  void queue.wait('c', { first: true });
  expect(names(queue)).toEqual(['c', 'a', 'b']);
  expect(queue.next?.item).toBe('c');
  expect(queue.size).toBe(3);
});

it('a waiter leaves its queue when it is resolved, rejected or aborted, and only the first counts', async () => {
  const queue = new WaitQueue<string, number>();
  const abort = new AbortController();
  const left: string[][] = [];
  const options = { signal: abort.signal, onAbort: () => left.push(names(queue)) };
  const [a, b, c] = ['a', 'b', 'c'].map((name) => queue.wait(name, options));
  const [first, second] = [...queue];
  first?.resolve(1);
  first?.reject(new Error('too late'));
  second?.reject(new Error('refused'));
  abort.abort(new Error('stopped'));
  expect(await a).toBe(1);
  await expect(b).rejects.toThrow('refused');
  await expect(c).rejects.toThrow('stopped');
  expect(left).toEqual([[]]);
  expect(queue.size).toBe(0);
});

it('an aborted signal rejects a new wait without entering the queue', async () => {
  const queue = new WaitQueue<string>();
  await expect(queue.wait('a', { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
  expect(queue.size).toBe(0);
});

it('all waiters of a queue can be resolved in one iteration, and all others rejected', async () => {
  const queue = new WaitQueue<number, number>();
  const waits = [1, 2, 3, 4].map((item) => queue.wait(item));
  for (const { item, resolve } of queue) if (item < 3) resolve(10 * item);
  queue.rejectAll(new Error('closed'));
  expect(
    (await Promise.allSettled(waits)).map((end) => (end.status === 'fulfilled' ? end.value : end.reason.message)),
  ).toEqual([10, 20, 'closed', 'closed']);
});

it('shared work ends for an aborted caller, and continues for the others', async () => {
  let finish = (_value: number) => {};
  const work = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const abort = new AbortController();
  const [mine, theirs] = [unlessAborted(work, abort.signal), unlessAborted(work, new AbortController().signal)];
  abort.abort(new Error('stopped'));
  finish(7);
  await expect(mine).rejects.toThrow('stopped');
  expect(await theirs).toBe(7);
  await expect(unlessAborted(Promise.reject(new Error('broken')), new AbortController().signal)).rejects.toThrow(
    'broken',
  );
});
