import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Reserve } from '../../../src/store/file/reserve.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
let files = 0;

const LINE = 65_536;
const full = () => Object.assign(new Error('write failed'), { code: 'ENOSPC' });

function open() {
  const path = join(dir, `r${++files}`, 'reserve');
  return { path, reserve: new Reserve(path), size: () => (existsSync(path) ? statSync(path).size : 0) };
}

it('space is reserved for each request in flight, by the size of the largest answer so far', async () => {
  const { reserve, size } = open();
  await reserve.keep(2);
  expect(size()).toBe(2 * (1_048_576 + LINE));
  await reserve.keep(1);
  expect(size()).toBe(2 * (1_048_576 + LINE));
  await reserve.into(
    () => 2_000_000,
    async () => undefined,
  );
  await reserve.into(
    () => 10,
    async () => undefined,
  );
  await reserve.keep(3);
  expect(size()).toBe(3 * (3_000_000 + LINE));
  await reserve.close();
  expect(size()).toBe(0);
});

it('the first reserve has a bound that the disk writes quickly, until an answer shows the size', async () => {
  const { reserve, size } = open();
  await reserve.keep(256);
  expect(size()).toBe(67_108_864);
  await reserve.into(
    () => 400_000,
    async () => undefined,
  );
  await reserve.keep(256);
  expect(size()).toBe(256 * (600_000 + LINE));
  await reserve.close();
});

it('space is reserved for all waiting requests at once, and each of them waits for its own space', async () => {
  const { reserve, size } = open();
  const sizes = await Promise.all([1, 2, 3, 4].map((requests) => reserve.keep(requests).then(size)));
  expect(sizes).toEqual(Array(4).fill(4 * (1_048_576 + LINE)));
  await reserve.close();
});

it('an answer that finds the disk full is written into its reserved space', async () => {
  const { reserve, size } = open();
  await reserve.keep(2);
  const before = size();
  let tries = 0;
  await reserve.into(
    () => 1000,
    async () => {
      if (++tries < 3) throw full();
    },
  );
  expect(tries).toBe(3);
  expect(size()).toBe(before - 2 * (1000 + LINE));
  await reserve.close();
});

it('a full disk is reported if no space is reserved, and any other failure at once', async () => {
  const { reserve, size } = open();
  await expect(
    reserve.into(
      () => 10,
      () => Promise.reject(full()),
    ),
  ).rejects.toThrow('write failed');
  await reserve.keep(1);
  const before = size();
  await expect(
    reserve.into(
      () => 10,
      () => Promise.reject(new Error('broken')),
    ),
  ).rejects.toThrow('broken');
  expect(size()).toBe(before);
  await reserve.close();
});

it('the space that a killed process reserved is free again', () => {
  const { path } = open();
  const left = join(dir, 'left');
  writeFileSync(left, 'x'.repeat(100));
  new Reserve(left);
  expect([existsSync(left), existsSync(path)]).toEqual([false, false]);
});
