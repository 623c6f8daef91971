import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { WalkLoader } from '../../src/activities/walk-loader.js';
import {
  type EventWarehouse,
  type LoadedPages,
  MisshapenPage,
  type WindowPages,
} from '../../src/core/event-warehouse.js';
import { startWalk } from '../../src/core/walk.js';
import { sync } from './made-events.js';

/** A warehouse whose loads end when they are told to: what matters here is their timing. */
class Gate implements Pick<EventWarehouse, 'load'> {
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

  /** Ends the oldest load that runs, once there is one. */
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

const scratch = mkdtempSync(join(tmpdir(), 'searchflow-walk-loader-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const open = () => {
  const gate = new Gate();
  const loader = new WalkLoader(gate as unknown as EventWarehouse, scratch);
  return { gate, join: (window: number) => loader.join(sync, window, 'a') };
};
const page = (number: number, bytes = 10) => ({ page: number, events: new Uint8Array(bytes) });
const walk = startWalk();

it('loads at once when everybody waits, and gathers what comes while a load runs', async () => {
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

it('makes who brings more wait while too much is on its way', async () => {
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
  await expect.poll(() => put).toBeGreaterThan(4);
  const before = put;
  expect(before).toBeLessThan(12);
  for (let end = 0; end < 12 && put < 12; end++) await gate.end();
  await bringing;
  const landed = one.landed();
  while (gate.running) await gate.end();
  expect(await landed).toMatchObject({ events: 12 });
  one.leave();
});

it('fails all windows of a load that failed, but only the one whose page holds no events', async () => {
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

it('holds pages as they came, in their order, wherever they lie; and leaves no file', async () => {
  const { gate, join } = open();
  const [one, two] = [join(1), join(2)];
  const mega = 1_048_576;
  const filled = (number: number) => ({ page: number, events: new Uint8Array(mega).fill(number) });
  // Some more than stay in memory; all at once, as windows bring them.
  await Promise.all([1, 2, 3, 4, 5, 6, 7].map((number) => (number % 2 ? one : two).put(filled(number), walk)));
  const landed = [one.landed(), two.landed()];
  await expect.poll(() => gate.seen).toEqual(['1: 1 3 5 7, 2: 2 4 6']);
  for (const { pages } of gate.loads.flat()) {
    for (const { page: number, size, read } of pages) {
      expect(size).toBe(mega);
      expect(Buffer.from(await read()).equals(Buffer.alloc(mega, number))).toBe(true);
    }
  }
  expect(readdirSync(scratch)).toEqual([]);
  await gate.end();
  await Promise.all(landed);
});

it('fails a load whose pages could not be written down', async () => {
  const gate = new Gate();
  const loader = new WalkLoader(gate as unknown as EventWarehouse, join(scratch, 'nowhere'));
  const one = loader.join(sync, 1, 'a');
  await one.put(page(1, 4 * 1_048_576), walk);
  await expect(one.put(page(2), walk)).rejects.toThrow('ENOENT');
  const landed = one.landed();
  await expect(gate.loads[0]?.[0]?.pages[1]?.read()).rejects.toThrow('ENOENT');
  await gate.end(new Error('as the page could not be read'));
  await expect(landed).rejects.toThrow('could not be read');
});
