import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { unitKeys } from '../../../src/core/purchase/unit-key.js';
import { readSlice, sliceFile, stageRows, type UnitSource } from '../../../src/rows/index.js';
import { openReader } from '../../../src/sources/open-reader.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
let count = 0;

async function stage(input: string, units: UnitSource, more: { key?: readonly string[]; encoding?: string } = {}) {
  const { key, ...source } = more;
  const scratch = join(dir, `scratch-${++count}`);
  mkdirSync(scratch);
  const outDir = join(dir, `stage-${count}`);
  const manifest = await stageRows({
    reader: openReader({ input, stdin: Readable.from([]), delimiter: null, scratch, ...source }),
    units,
    ...(key ? { key } : {}),
    rowsPerSlice: { large: 2000, small: 200 },
    keyOf: unitKeys(sha256, 'sandbox', 'search', {}),
    sha256,
    outDir,
  });
  return { manifest, rows: await readSlice(sliceFile(outDir, 0)) };
}

const file = (name: string, content: string | Buffer) => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};
const byUrl: UnitSource = { kind: 'url', column: 'url' };

it('half of a character in JSON Lines becomes U+FFFD in cells, units, keys, lists, objects and names', async () => {
  const line = String.raw`{"id":"a\ud83d","url":"https://a.example/\udc00x","whole":"\ud83d\ude00 \\ud83d","deep":{"k\ud83d":["\ud800",{"n\u0000":"\u0000\\u0000"}]},"na\u0000me\ud83d":"x\u0000"}`;
  const { manifest, rows } = await stage(file('odd.jsonl', `${line}\n`), byUrl, { key: ['id'] });
  expect(manifest.columns).toEqual(['id', 'url', 'whole', 'deep', 'na\ufffdme\ufffd']);
  expect(manifest.renamed).toEqual([{ column: 5, name: 'na\ufffdme\ufffd' }]);
  expect(rows[0]?.i).toEqual([
    'a\ufffd',
    'https://a.example/\ufffdx',
    '😀 \\ud83d',
    '{"k\ufffd":["\ufffd",{"n\ufffd":"\ufffd\\\\u0000"}]}',
    'x\0',
  ]);
  const made = await stage(join(dir, 'odd.jsonl'), { kind: 'template', template: { query: '{{id}} {{deep}}' } });
  expect(JSON.parse(made.rows[0]?.u as string).query).toBe(
    'a\ufffd {"k\ufffd":["\ufffd",{"n\ufffd":"\ufffd\\\\u0000"}]}',
  );
});

it('names that become equal get different names', async () => {
  const { manifest } = await stage(
    file('names.jsonl', String.raw`{"a\ud83d":1,"a\ud83e":2,"a\u0000":3,"url":"https://a.example/"}`),
    byUrl,
  );
  expect(manifest.columns).toEqual(['a\ufffd', 'a\ufffd_2', 'a\ufffd_3', 'url']);
  expect(manifest.renamed).toHaveLength(3);
});

it.each([
  ['half a pair in UTF-16', Buffer.from('\ufeffurl\nhttps://a.example/\ud83d\n', 'utf16le')],
  [
    'half a pair in UTF-8 (CESU-8)',
    Buffer.concat([Buffer.from('url\nhttps://a.example/'), Buffer.from([0xed, 0xa0, 0xbd, 0x0a])]),
  ],
  ['an overlong character', Buffer.concat([Buffer.from('url\nhttps://a.example/'), Buffer.from([0xc0, 0xaf, 0x0a])])],
])('a CSV with %s is refused with its place', async (_name, bytes) => {
  await expect(stage(file('odd.csv', bytes), byUrl)).rejects.toThrow(
    /^line 2, character 19: .*half a character|^line 2, character 19: .*the byte 0x/,
  );
});
