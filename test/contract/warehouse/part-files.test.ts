import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withPartFiles } from '../../../src/warehouse/duckdb/transaction.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();

function fileOf(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const partsOf = (files: readonly string[]) =>
  withPartFiles(files, false, async (parts) => parts.map((part) => readFileSync(part, 'utf8')));

describe('the parts of large files of lines', () => {
  const line = (nth: number, length: number) => `{"nth":${nth},"text":"${'é'.repeat(length)}"}\n`;

  it('have all lines in their order, and are cut between lines', async () => {
    const text = Array.from({ length: 4000 }, (_, nth) => line(nth, 1000)).join('');
    const parts = await partsOf([fileOf('small.jsonl', line(-1, 3)), fileOf('large.jsonl', text)]);
    expect(parts).toHaveLength(1 + Math.ceil(Buffer.byteLength(text) / 2_097_152));
    expect(parts.slice(1).join('') === text).toBe(true);
    for (const part of parts) expect([part.startsWith('{"nth":'), part.endsWith('"}\n')]).toEqual([true, true]);
  });

  it('have long lines whole, and the torn end of a file', async () => {
    const text = line(1, 10) + line(2, 4_000_000) + line(3, 10) + line(4, 10).slice(0, -4);
    const parts = await partsOf([fileOf('long.jsonl', text)]);
    expect(parts.join('') === text).toBe(true);
    expect(parts.some((part) => part.includes(line(2, 4_000_000)))).toBe(true);
  });

  it('are the files themselves if these are small, and copies are removed', async () => {
    const small = fileOf('one.jsonl', line(1, 5));
    expect(await withPartFiles([small], false, async (parts) => parts)).toEqual([small]);
    const large = fileOf('two.jsonl', line(1, 3_000_000));
    const [copy] = await withPartFiles([large], false, async (parts) => parts);
    expect(copy).not.toBe(large);
    expect(() => readFileSync(dirname(copy as string))).toThrow('ENOENT');
  });
});
