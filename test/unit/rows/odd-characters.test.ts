import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jsonReader, readSlice, sliceFile, stageRows, type UnitSource } from '../../../src/rows/index.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

let stages = 0;
async function staged(lines: readonly string[], units: UnitSource, key?: readonly string[]) {
  const outDir = join(dir, `stage-${++stages}`);
  const file = `${outDir}.jsonl`;
  writeFileSync(file, lines.join('\n'));
  const manifest = await stageRows({
    ...{ reader: jsonReader([file]), units, key, outDir, sha256 },
    ...{ rowsPerSlice: { large: 100, small: 100 }, keyOf: (unit) => sha256(unit).slice(0, 32) },
  });
  return { manifest, rows: await readSlice(sliceFile(outDir, 0)) };
}

it('[71] half of a surrogate pair in a cell, a name, a key or a request becomes U+FFFD, and so does NUL in JSON and in names', async () => {
  const lines = [
    String.raw`{"\ud83d":"cut \ud83d","na\u0000me":"\ud83d\ude00","n":1,"\ufeffmark":"m","half":"\ud83d","in":{"k\udc00\u0000":"\ude00\\ud83d"}}`,
    String.raw`{"\ud83d":"cut \ud83e","na\u0000me":"\u0000","n":2,"\ufeffmark":"m","half":"\ud83e","in":{}}`,
  ];
  const units = { kind: 'template', template: { query: 'Facts of {{half}}' } } as const;
  const { manifest, rows } = await staged(lines, units, ['n']);
  expect(manifest.columns).toEqual(['�', 'na�me', 'n', 'mark', 'half', 'in']);
  expect(manifest.badRows).toBe(0);
  expect(rows.map(({ i }) => i)).toEqual([
    ['cut �', '😀', '1', 'm', '�', String.raw`{"k��":"�\\ud83d"}`],
    ['cut �', '\0', '2', 'm', '�', '{}'],
  ]);
  expect(rows[0]?.u).toBe('{"query":"Facts of �"}');
});

it('[71] a URL with half of a surrogate pair is a bad row, so it is never sent', async () => {
  const lines = [String.raw`{"url":"https://a.com/\ud83d"}`, String.raw`{"url":"https://a.com/\ud83d\ude00"}`];
  const { manifest, rows } = await staged(lines, { kind: 'url', column: 'url' });
  expect(rows.map(({ u, e }) => [u, e])).toEqual([
    ['https://a.com/�', 'INVALID_URL'],
    ['https://a.com/😀', null],
  ]);
  expect(manifest.firstBad[0]?.message).toContain('U+FFFD');
});
