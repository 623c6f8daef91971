import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** Until the end of the current test, timers and promised waits follow a clock that the test moves. */
export function fakeWaits(): void {
  const real = timers.setTimeout;
  const replace = (wait: typeof timers.setTimeout) => {
    timers.setTimeout = wait;
    syncBuiltinESMExports();
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  replace(
    ((ms, value, { signal } = {}) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve(value as never), ms);
        signal?.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason as Error);
        });
      })) as typeof timers.setTimeout,
  );
  onTestFinished(() => {
    replace(real);
    vi.useRealTimers();
  });
}
