import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SliceWriter } from '../../../src/rows/slice-writer.js';
import { readLines, sliceFile } from '../../../src/rows/stage-manifest.js';
import { folderOfTest } from '../../support/files/folders.js';

const MIB = 1_048_576;

it('makes all slices smaller when rows are too large together, and keeps the rows in order', async () => {
  const dir = folderOfTest();
  const writer = new SliceWriter(dir, { large: 64, small: 64 });
  const sizes = Array.from({ length: 80 }, (_, row) => (row >= 66 && row < 74 ? 3 * MIB : 250_000));
  for (const [row, size] of sizes.entries()) await writer.add(`${row} ${'é'.repeat(size / 2)}\n`);
  await writer.end();
  const rows: number[] = [];
  for (let slice = 0; slice < writer.slices; slice++) {
    const lines = await readLines(sliceFile(dir, slice), (line) => line);
    if (slice < writer.slices - 1) expect(lines).toHaveLength(writer.rowsPerSlice);
    expect(lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)).toBeLessThanOrEqual(16 * MIB);
    rows.push(...lines.map((line) => Number(line.split(' ')[0])));
  }
  expect(rows).toEqual(sizes.map((_, row) => row));
  expect(readdirSync(dir)).toHaveLength(writer.slices);
});
