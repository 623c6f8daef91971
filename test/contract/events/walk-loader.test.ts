import { expect, it } from 'vitest';
import { WalkLoader } from '../../../src/activities/events/walk-loader.js';
import { type LoadedPages, MisshapenPage, type WindowPages } from '../../../src/core/events/event-warehouse.js';
import { startWalk } from '../../../src/core/events/walk.js';
import { sync } from '../../suites/made-events.js';

/** A warehouse whose loads end only when the test says so, because the tests are about the timing of loads. */
class Gate {
  readonly loads: (readonly WindowPages[])[] = [];
  readonly #ends: ((error: Error | null) => void)[] = [];
  bad: number | null = null;

  load(batch: readonly WindowPages[]): Promise<readonly LoadedPages[]> {
    this.loads.push(batch);
    return new Promise((resolve, reject) => {
      this.#ends.push((error) => {
        if (error) return reject(error);
        if (batch.some(({ window }) => window === this.bad)) return reject(new MisshapenPage('bad'));
        resolve(batch.map(({ pages }) => ({ events: pages.length, added: pages.length, changed: 0, current: true })));
      });
    });
  }

  /** Waits until a load is in progress and ends the oldest one. */
  async end(error: Error | null = null): Promise<void> {
    await expect.poll(() => this.#ends.length).toBeGreaterThan(0);
    this.#ends.shift()?.(error);
  }

  /** Whether pages are still to be loaded. */
  get running(): boolean {
    return this.loads.flat().reduce((sum, { pages }) => sum + pages.length, 0) < 12 || this.#ends.length > 0;
  }

  /** Windows and numbers of their pages, load by load. */
  get seen(): string[] {
    return this.loads.map((batch) =>
      batch.map(({ window, pages }) => `${window}: ${pages.map(({ page }) => page).join(' ')}`).join(', '),
    );
  }
}

const open = () => {
  const gate = new Gate();
  const loader = new WalkLoader((batch) => gate.load(batch));
  return { gate, join: (window: number) => loader.join(sync, window, 'a') };
};
const page = (number: number, bytes = 10) => ({ page: number, events: new Uint8Array(bytes) });
const walk = startWalk();

it('the loader loads at once when all windows wait, and collects the pages that come while a load runs', async () => {
  const { gate, join } = open();
  const [one, two] = [join(1), join(2)];
  await one.put(page(1), walk);
  await two.put(page(1), walk);
  const landed = [one.landed(), two.landed()];
  await expect.poll(() => gate.seen).toEqual(['1: 1, 2: 1']);
  await one.put(page(2), walk);
  await one.put(page(3), walk);
  await gate.end();
  expect(await landed[1]).toMatchObject({ events: 1, current: true });
  two.leave();
  await expect.poll(() => gate.seen[1]).toBe('1: 2 3');
  await gate.end();
  expect(await landed[0]).toEqual({ events: 3, added: 3, changed: 0, current: true });
  one.leave();
});

it('the loader makes a window wait while too many bytes are not loaded yet', async () => {
  const { gate, join } = open();
  const one = join(1);
  const mega = 1_048_576;
  let put = 0;
  const bringing = (async () => {
    for (let number = 1; number <= 12; number++) {
      await one.put(page(number, 10 * mega), walk);
      put = number;
    }
  })();
  await expect.poll(() => gate.loads.length).toBe(1);
  // The first page is being loaded. Two more pages are above the 16 MB that may wait, so no further page is read.
  await expect.poll(() => put).toBe(3);
  await gate.end();
  await expect.poll(() => put).toBeGreaterThan(3);
  expect(put).toBeLessThan(12);
  for (let end = 0; end < 12 && put < 12; end++) await gate.end();
  await bringing;
  const landed = one.landed();
  while (gate.running) await gate.end();
  expect(await landed).toMatchObject({ events: 12 });
  one.leave();
});

it('the loader fails all windows of a failed load, but only one window for a page without events', async () => {
  const { gate, join } = open();
  const [one, two] = [join(1), join(2)];
  await one.put(page(1), walk);
  await two.put(page(1), walk);
  gate.bad = 2;
  const landed = Promise.allSettled([one.landed(), two.landed()]);
  await gate.end();
  await gate.end();
  await gate.end();
  expect(await landed).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { name: 'MisshapenPage' } },
  ]);
  await one.put(page(2), walk);
  two.leave();
  const lost = one.landed();
  await gate.end(new Error('disk full'));
  await expect(lost).rejects.toThrow('disk full');
  await expect(one.put(page(3), walk)).rejects.toThrow('disk full');
});

it('the loader no longer counts the pages of a window that left after a failed load', async () => {
  const { gate, join } = open();
  for (const window of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
    const left = join(window);
    await left.put(page(1, 13 * 1_048_576), walk);
    await expect.poll(() => gate.loads.length).toBe(window);
    await left.put(page(2, 2 * 1_048_576), walk);
    await gate.end(new Error('disk full'));
    await expect(left.landed()).rejects.toThrow('disk full');
    left.leave();
  }
  const next = join(11);
  await next.put(page(1), walk);
  const landed = next.landed();
  await gate.end();
  await landed;
});
