import { expect, it, vi } from 'vitest';
import { answered, standBy } from '../../../src/cli/shared/session.js';

it('a standby takes over from a worker that has ended, and reports once that it did, or why it cannot yet', async () => {
  const stop = new AbortController();
  const said: string[] = [];
  const keep = vi.fn(async () => undefined);
  const runtime = { clientOnly: 'folder' as 'folder' | null, takeOver: vi.fn(async () => false) };
  const say = (sentence: string) => said.push(sentence);
  const over = standBy({ runtime, sandbox: { keep }, say, signal: stop.signal, everyMs: 1 });
  const tried = () => runtime.takeOver.mock.calls.length;
  await expect.poll(tried).toBeGreaterThan(3);
  expect(said).toEqual([expect.stringContaining('Standing by to take over')]);
  runtime.takeOver.mockRejectedValue(new Error('the service is away'));
  const before = tried();
  await expect.poll(tried).toBeGreaterThan(before + 3);
  expect(said.slice(1)).toEqual([expect.stringContaining('the service is away')]);
  runtime.takeOver.mockImplementation(async () => {
    runtime.clientOnly = null;
    return true;
  });
  await expect.poll(() => said.slice(2)).toEqual([expect.stringContaining('This one is running')]);
  const [kept, last] = [keep.mock.calls.length, tried()];
  await expect.poll(() => keep.mock.calls.length).toBeGreaterThan(kept + 3);
  expect([tried(), said.length]).toEqual([last, 3]);
  stop.abort();
  await over;
});

const never = <T>() => new Promise<T>(() => undefined);

it('a question to a server that can neither be reached nor started ends without an answer, as one to a silent worker does', async () => {
  const ask = async () => 'answer';
  expect(await answered(() => never<string>(), ask, 5)).toBeNull();
  expect(
    await answered(
      async () => 'handle',
      () => never<string>(),
      5,
    ),
  ).toBeNull();
  expect(await answered(async () => 'handle', ask)).toBe('answer');
});
