import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unitKeys } from '../../../src/core/purchase/unit-key.js';
import { CsvError, csvReader, readSlice, readStage, readUnits, sliceFile, stageRows } from '../../../src/rows/index.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
let count = 0;

async function stage(
  source: string | Buffer | Readable | { path: string },
  {
    delimiter = null,
    encoding,
    ...more
  }: Partial<Parameters<typeof stageRows>[0] & Parameters<typeof csvReader>[0]> = {},
) {
  const outDir = join(dir, `stage-${++count}`);
  let from: string | Readable;
  if (source instanceof Readable) from = source;
  else if (typeof source === 'object' && 'path' in source) from = source.path;
  else {
    from = join(dir, `input-${count}.csv`);
    writeFileSync(from, source);
  }
  const manifest = await stageRows({
    reader: csvReader({ source: from, delimiter, encoding }),
    units: { kind: 'url', column: null },
    rowsPerSlice: { large: 2000, small: 200 },
    keyOf: unitKeys(sha256, 'sandbox', 'contents', {}),
    sha256,
    outDir,
    ...more,
  });
  const slices = await Promise.all(
    Array.from({ length: manifest.slices }, (_, slice) => readSlice(sliceFile(outDir, slice))),
  );
  return { manifest, outDir, slices, rows: slices.flat() };
}

async function refusal(...args: Parameters<typeof stage>): Promise<string> {
  const before = readdirSync(dir).filter((name) => name.startsWith('stage-'));
  const error = await stage(...args).catch((problem: unknown) => problem);
  expect(error).toBeInstanceOf(CsvError);
  expect(readdirSync(dir).filter((name) => name.startsWith('stage-'))).toEqual(before);
  return (error as Error).message;
}

describe('stageRows of a CSV', () => {
  it('writes every row with number, hash, key, unit and cells, and a manifest', async () => {
    const { manifest, rows, outDir } = await stage(
      'name,url\n A ,  https://a.com/x \nb,https://b.com\nc,https://a.com/x\n',
    );
    expect(rows[0]).toEqual({
      n: 1,
      h: sha256('[" A ","  https://a.com/x "]').slice(0, 16),
      k: unitKeys(sha256, 'sandbox', 'contents', {})('https://a.com/x'),
      u: 'https://a.com/x',
      e: null,
      m: null,
      i: [' A ', '  https://a.com/x '],
    });
    expect(rows[2]).toMatchObject({ n: 3, k: rows[0]?.k, d: true });
    expect(rows[1]).not.toHaveProperty('d');
    expect(manifest).toMatchObject({
      columns: ['name', 'url'],
      unitColumn: 'url',
      rows: 3,
      badRows: 0,
      distinctUnits: 2,
      slices: 1,
    });
    expect(await readStage(outDir)).toEqual(manifest);
    expect(await readStage(join(dir, 'nowhere'))).toBeNull();
  });

  it('keeps bad rows in order, with a tag and a sentence that gives their position', async () => {
    const long = `https://a.com/${'x'.repeat(2048)}`;
    const { manifest, rows } = await stage(
      `name,url\ngood,https://a.com\nno url,\nftp,ftp://a.com\nbare,example.com\nbroken,http://a b/\nlong,${long}\nshort\nmore,https://a.com,x\n"st"ray,https://a.com\ngood,https://b.com\n`,
    );
    expect(rows.map((row) => row.e ?? 'good').join(' ')).toBe(
      'good MISSING_URL INVALID_URL INVALID_URL INVALID_URL INVALID_URL CSV_RAGGED CSV_RAGGED CSV_INVALID good',
    );
    expect(manifest.firstBad.map(({ row, message }) => `${row} ${message}`)).toEqual([
      '2 line 3, column 2 ("url"): no URL',
      '3 line 4, column 2 ("url"): "ftp://a.com" does not begin with http:// or https://',
      '4 line 5, column 2 ("url"): "example.com" does not begin with http:// or https://; --default-scheme https reads it as "https://example.com"',
      '5 line 6, column 2 ("url"): "http://a b/" is not a valid URL',
      '6 line 7, column 2 ("url"): a URL of 2062 characters; 2048 is the limit',
      '7 line 8, column 2 ("url"): the row has 1 cells, the header 2',
      '8 line 9, column 3: the row has 3 cells, the header 2',
      '9 line 10, column 1 ("name"): the cell begins with a quote (character 1), but has text after its closing quote (line 10, character 5)',
    ]);
    expect(rows[8]?.i).toEqual(['"st"ray,https://a.com']);
    expect(rows.filter((row) => row.e !== null).every((row) => row.k === null && row.m !== null)).toBe(true);
    expect(manifest).toMatchObject({ rows: 10, badRows: 8, distinctUnits: 2 });
  });

  it('shows at most a thousand bad rows and keeps them all', async () => {
    const { manifest, rows } = await stage(`url\n${'x\n'.repeat(1500)}`);
    expect(manifest.firstBad).toHaveLength(1000);
    expect(rows.filter((row) => row.e === 'INVALID_URL')).toHaveLength(1500);
  });

  it('cuts small files into small slices and large ones into large', async () => {
    const lines = (rows: number) =>
      `url\n${Array.from({ length: rows }, (_, index) => `https://a.com/${index}\n`).join('')}`;
    const small = await stage(lines(450));
    expect(small.slices.map((slice) => slice.length)).toEqual([200, 200, 50]);
    expect(small.manifest).toMatchObject({ slices: 3, rowsPerSlice: 200 });
    // At most twenty small slices; then their size is a multiple.
    expect((await stage(lines(4000))).manifest).toMatchObject({ slices: 20, rowsPerSlice: 200 });
    expect((await stage(lines(4001))).manifest).toMatchObject({ slices: 11, rowsPerSlice: 400 });
    const large = await stage(lines(21_000));
    expect(large.manifest).toMatchObject({ slices: 11, rowsPerSlice: 2000, distinctUnits: 21_000 });
    expect(large.rows.map((row) => row.n)).toEqual(Array.from({ length: 21_000 }, (_, index) => index + 1));
  });

  it('reads the same rows from UTF-8 with mark, UTF-16 of both kinds, gzip and a stream of single bytes', async () => {
    const text = 'näme,url\nß😀,https://a.com/ü\n';
    const le = Buffer.from(`\ufeff${text}`, 'utf16le');
    const expected = (await stage(text)).rows;
    const bytes = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
    for (const source of [
      `\ufeff${text}`,
      le,
      Buffer.from(le).swap16(),
      gzipSync(text),
      Readable.from(bytes),
      Readable.from([gzipSync(text)]),
    ]) {
      const { manifest, rows } = await stage(source);
      expect(manifest.columns).toEqual(['näme', 'url']);
      expect(rows).toEqual(expected);
    }
  });

  it('gives the same content hash to a file and its gzip', async () => {
    const text = 'url\nhttps://a.com\n';
    expect((await stage(gzipSync(text))).manifest.contentHash).toBe((await stage(text)).manifest.contentHash);
  });

  it('keeps NUL and other control characters in cells as they are', async () => {
    const { rows } = await stage('url,note\nhttps://a.com,a\0b\x1b[31m\n');
    expect(rows[0]?.i[1]).toBe('a\0b\x1b[31m');
  });

  it('names columns whose name occurs before, and columns without a name', async () => {
    const { manifest, rows } = await stage('url,a,url,,a,a_2,\nhttps://a.com,1,2,3,4,5,6\n');
    expect(manifest).toMatchObject({
      columns: ['url', 'a', 'url_2', 'column_4', 'a_3', 'a_2', 'column_7'],
      unitColumn: 'url',
      renamed: [
        { column: 3, name: 'url_2' },
        { column: 4, name: 'column_4' },
        { column: 5, name: 'a_3' },
        { column: 7, name: 'column_7' },
      ],
    });
    expect(rows[0]?.i).toEqual(['https://a.com', '1', '2', '3', '4', '5', '6']);
    const one = await stage(',url\n1,https://a.com\n');
    expect(one.manifest.columns).toEqual(['', 'url']);
    expect(one.manifest.renamed).toBeUndefined();
  });

  it('makes the unit of a row from a template, and names a missing cell', async () => {
    const units = {
      kind: 'template',
      template: { query: 'CEO of {{name}}', input: { data: [{ site: '{{site}}' }] } },
    } as const;
    const { manifest, rows } = await stage('name,site\nA,a.com\nA,b.com\n,c.com\nA,a.com\n', { units });
    expect(manifest).toMatchObject({ unitColumn: null, rows: 4, badRows: 1, distinctUnits: 2 });
    expect(rows[0]?.u).toBe('{"input":{"data":[{"site":"a.com"}]},"query":"CEO of A"}');
    expect(new Set(rows.map((row) => row.k)).size).toBe(3);
    expect(rows[3]).toMatchObject({ k: rows[0]?.k, d: true });
    expect(manifest.firstBad).toEqual([
      {
        row: 3,
        tag: 'MISSING_VALUE',
        message: 'line 4, column 1 ("name"): the cell is empty, but the template requires it',
      },
    ]);
    const wrong = { kind: 'template', template: '{{nmae}}' } as const;
    expect(await refusal('name\nA\n', { units: wrong })).toContain('names "nmae", which is not a column');
  });

  it('refuses a file that is no table in one sentence and leaves nothing behind', async () => {
    expect(await refusal('')).toBe('The input is empty: it has no header and no rows');
    expect(await refusal('\ufeff')).toContain('is empty');
    expect(await refusal('name,url\n')).toBe('The input has a header, but no rows');
    expect(await refusal('ur"l,a\nx,y\n')).toContain('line 1, column 1: a quote in the middle');
    expect(await refusal(`${'c,'.repeat(10_001)}url\n`)).toContain('more than 10000 columns');
    expect(await refusal('"url,a\nhttps://b.com,b\n')).toContain('line 1, column 1: a quote is opened here');
    expect(await refusal('url\n1\n', { delimiter: ',,' })).toContain('one character');
    expect(await refusal(Buffer.from([0x50, 0x4b, 3, 4, 1, 2]))).toBe(
      'The input is an Excel workbook (.xlsx) or another ZIP file, not CSV. Open it in a spreadsheet program and save the sheet as "CSV UTF-8" (File > Save As), then pass that file',
    );
    const xls = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1, 2]);
    expect(await refusal(xls, { encoding: 'windows-1252' })).toContain('an Excel workbook (.xls)');
    expect(await refusal(Buffer.from('url\nhttps://a.com\n', 'utf16le'))).toContain('UTF-16 without a byte order mark');
  });

  it('names line and character of bytes that are not UTF-8', async () => {
    const latin1 = Buffer.concat([
      Buffer.from('url,name\nhttps://a.com,ok\nhttps://b.com,caf'),
      Buffer.from([0xe9]),
      Buffer.from('\nhttps://c.com,x\n'),
    ]);
    expect(await refusal(latin1)).toBe(
      `line 3, character 18: ${join(dir, `input-${count}.csv`)} is not valid UTF-8 (the byte 0xe9 at offset 43). Name its encoding, such as --encoding windows-1252, or save it as UTF-8`,
    );
    expect(await refusal(Readable.from([latin1.subarray(0, 20), latin1.subarray(20)]))).toContain(
      'line 3, character 18: the input is not valid UTF-8 (the byte 0xe9 at offset 43)',
    );
    expect(await refusal(Buffer.concat([Buffer.from('url\nx'), Buffer.from([0xe2, 0x82])]))).toContain(
      'line 2, character 2',
    );
    const pad = 'https://a.com/\n'.repeat(40_000);
    expect(await refusal(Buffer.concat([Buffer.from(`url\n${pad}ab`), Buffer.from([0xff])]))).toContain(
      'line 40002, character 3',
    );
    const half = Buffer.from('\ufeffurl\na\ud800b\n', 'utf16le');
    expect(await refusal(half)).toContain('line 2, character 2');
  });

  it('decodes the named encoding, unless a byte order mark names another', async () => {
    const rowOf = async (source: Buffer, encoding: string) => (await stage(source, { encoding })).rows[0]?.i[1];
    const bytes = (name: readonly number[]) => Buffer.from([...Buffer.from('url,name\nhttps://a.com,'), ...name, 10]);
    for (const encoding of ['windows-1252', 'latin1', 'iso-8859-1', 'CP1252'])
      expect(await rowOf(bytes([0xe9, 0x80, 0x93, 0x22, 0x9f]), encoding)).toBe('é€“"Ÿ');
    expect(await rowOf(bytes([0xb1]), 'iso-8859-2')).toBe('ą');
    expect(await rowOf(bytes([0x83, 0x65, 0x83, 0x58]), 'shift_jis')).toBe('テス');
    const text = 'url,name\nhttps://a.com,é😀\n';
    expect(await rowOf(Buffer.from(text, 'utf16le'), 'utf-16le')).toBe('é😀');
    expect(await rowOf(Buffer.from(text, 'utf16le').swap16(), 'utf-16be')).toBe('é😀');
    expect(await rowOf(Buffer.from(`\ufeff${text}`), 'windows-1252')).toBe('é😀');
    expect(await rowOf(Buffer.from(`\ufeff${text}`, 'utf16le'), 'windows-1252')).toBe('é😀');
    const split = Readable.from([...bytes([0x83, 0x65, 0x83, 0x58])].map((byte) => Buffer.from([byte])));
    expect((await stage(split, { encoding: 'shift_jis' })).rows[0]?.i[1]).toBe('テス');
    expect(await refusal(bytes([0x83, 0xff]), { encoding: 'shift_jis' })).toContain(
      `line 2, character 15: ${join(dir, `input-${count}.csv`)} is not valid shift_jis`,
    );
    expect(await refusal('url\n', { encoding: 'cp437' })).toContain('The encoding "cp437" is unknown');
    expect(await refusal(Buffer.from(text, 'utf16le'))).toContain('--encoding utf-16le');
  });

  it('names the problem with the file itself', async () => {
    expect(await refusal({ path: join(dir, 'missing.csv') })).toBe(`${join(dir, 'missing.csv')} does not exist`);
    expect(await refusal({ path: dir })).toBe(`${dir} is a directory, not a file of rows`);
    const packed = gzipSync(`url\n${'https://a.com\n'.repeat(1000)}`);
    expect(await refusal(packed.subarray(0, packed.length - 12))).toContain('is truncated');
    packed[packed.length - 6] = (packed[packed.length - 6] ?? 0) ^ 1;
    expect(await refusal(packed)).toContain('is damaged');
  });

  it('is final where the file is wrong, and is tried again where the system is', async () => {
    const transient = (path: string, more: Parameters<typeof stage>[1] = {}) =>
      stage({ path }, more).then(
        () => null,
        (error: object) => 'isTransient' in error && error.isTransient,
      );
    const holes = join(dir, 'holes.csv');
    writeFileSync(holes, '');
    truncateSync(holes, 5_000_000);
    const loop = join(dir, 'loop.csv');
    symlinkSync(loop, loop);
    const longName = join(dir, `${'n'.repeat(300)}.csv`);
    for (const path of [dir, join(dir, 'missing.csv'), join(holes, 'in.csv'), holes, loop, longName])
      expect.soft([path, await transient(path)]).toEqual([path, false]);
    // The kernel refuses every user who reads the start of this file.
    expect(await transient('/proc/self/mem')).toBe(true);
  });

  it('refuses a file that changes while it is read, and may be tried again', async () => {
    const path = join(dir, 'growing.csv');
    writeFileSync(path, `url\n${'https://a.com/\n'.repeat(10_000)}`);
    let grown = false;
    const grow = () => {
      if (!grown) appendFileSync(path, 'https://b.com/\n');
      grown = true;
    };
    await expect(stage({ path }, { onProgress: grow })).rejects.toMatchObject({
      isTransient: true,
      message: `${path} changed while it was read; try again once it is complete`,
    });
  });

  it('stops on request, leaving nothing behind', async () => {
    const abort = new AbortController();
    const staging = stage(`url\n${'https://a.com/\n'.repeat(10_000)}`, {
      signal: abort.signal,
      onProgress: () => abort.abort(new Error('stop')),
    });
    await expect(staging).rejects.toThrow('stop');
    expect(existsSync(join(dir, `stage-${count}`))).toBe(false);
    expect(existsSync(join(dir, `stage-${count}.part`))).toBe(false);
  });

  it('does not evaluate formulas, templates or escapes in the data', async () => {
    const cells = ['=cmd|1', '{{7*7}}', '../../etc/passwd', '\x1b]0;x\x07'];
    const { rows } = await stage(`url,a,b,c,d\nhttps://a.com,${cells.join(',')}\n`);
    expect(rows[0]?.i.slice(1)).toEqual(cells);
  });
});

it('the units of a slice are its rows without their cells', async () => {
  const odd = 'https://a.example/?,"i":["x"]';
  const quoted = `"${odd.replaceAll('"', '""')}"`;
  const { outDir, rows } = await stage(
    `url,i\n${quoted},${quoted}\nno URL,x\nhttps://b.example/,\nhttps://b.example/,y\n`,
  );
  expect(rows.map(({ u, d }) => [u, d])).toEqual([
    [odd, undefined],
    ['no URL', undefined],
    ['https://b.example/', undefined],
    ['https://b.example/', true],
  ]);
  expect(await readUnits(sliceFile(outDir, 0))).toEqual(rows.map(({ i: _, ...row }) => row));
});
