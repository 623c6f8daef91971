import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { follow, followJob, rowProgress } from '../../../src/cli/progress/progress.js';
import { fakeContext, fakeHandle, fakeRuntime, progress, summary } from '../../support/cli/fake-runtime.js';

const watching = { stopped: new AbortController().signal, everyMs: 0 };

/** A promise, and the function that resolves it. */
function deferred<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

it('the question of a poll is answered before the end of the work is shown', async () => {
  const [ended, asked, answer] = [deferred<{ done: true }>(), deferred<void>(), deferred<null>()];
  const show = () => {
    asked.resolve();
    return answer.promise;
  };
  const followed = follow({ poll: async () => null, show, result: () => ended.promise }, watching);
  let isOver = false;
  void followed.then(() => {
    isOver = true;
  });
  await asked.promise;
  ended.resolve({ done: true });
  await turn();
  expect(isOver).toBe(false);
  answer.resolve(null);
  expect(await followed).toEqual({ done: true });
});

it('a poll ends the watch of work that continues, and a failed poll does not', async () => {
  let polls = 0;
  const poll = async () => {
    if (++polls === 1) throw new Error('no worker answered the query');
    return polls;
  };
  const show = () => (polls < 3 ? null : { polls });
  const result = () => new Promise<{ polls: number }>(() => undefined);
  expect(await follow({ poll, show, result }, watching)).toEqual({ polls: 3 });
});

it('a watch that is stopped shows nothing more', async () => {
  const stop = new AbortController();
  const shown: string[] = [];
  const poll = async () => stop.abort();
  const show = () => {
    shown.push('a poll');
    return null;
  };
  const result = () => new Promise<never>(() => undefined);
  void follow({ poll, show, result }, { stopped: stop.signal, everyMs: 0 });
  await turn();
  expect(shown).toEqual([]);
});

it('a worker that cannot load is named once, however often a poll reports it', async () => {
  const { runtime } = fakeRuntime();
  const { context, err } = fakeContext(runtime);
  const ended = deferred<typeof summary>();
  const refusals = ['A worker on a (PID 1) cannot load', 'A worker on b (PID 2) cannot load'];
  let polls = 0;
  const handle = fakeHandle({
    progress: async () => {
      if (++polls === 3) ended.resolve(summary);
      return { progress, running: [], refusals: refusals.slice(0, polls) };
    },
    result: () => ended.promise,
  });
  await followJob({ ...context, runtime, stopped: watching.stopped }, handle, rowProgress());
  for (const refusal of refusals) expect(err().split(refusal)).toHaveLength(2);
});
