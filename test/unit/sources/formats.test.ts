import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { unitKeys } from '../../../src/core/purchase/unit-key.js';
import { CsvError, readSlice, sliceFile, stageRows, type UnitSource } from '../../../src/rows/index.js';
import { jsonPieces } from '../../../src/rows/json-reader.js';
import { openReader } from '../../../src/sources/open-reader.js';
import { folderOfFile } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
let count = 0;

interface How extends Partial<Parameters<typeof openReader>[0]> {
  readonly units?: UnitSource;
  readonly key?: readonly string[];
}
const byTemplate = (query: string): UnitSource => ({ kind: 'template', template: { query } });

async function stage(input: string, { units = byTemplate('{{name}}'), key, ...request }: How = {}) {
  const outDir = join(dir, `stage-${++count}`);
  const scratch = join(dir, `scratch-${count}`);
  mkdirSync(scratch);
  const reader = openReader({ input, stdin: Readable.from([]), delimiter: null, scratch, ...request });
  const manifest = await stageRows({
    reader,
    units,
    key,
    rowsPerSlice: { large: 2000, small: 200 },
    keyOf: unitKeys(sha256, 'sandbox', 'search', {}),
    sha256,
    outDir,
  });
  const slices = await Promise.all(
    Array.from({ length: manifest.slices }, (_, slice) => readSlice(sliceFile(outDir, slice))),
  );
  return { manifest, rows: slices.flat() };
}

const file = (name: string, content: string | Buffer) => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};

const refusal = async (...args: Parameters<typeof stage>): Promise<string> => {
  const error = await stage(...args).catch((problem: unknown) => problem);
  expect(error).toBeInstanceOf(CsvError);
  return (error as Error).message;
};

describe('a table of all types', () => {
  const table = `SELECT 'Acme' || i AS name, i::INTEGER AS small, (i * 1000000007)::BIGINT AS big,
    (i + 0.5)::DECIMAL(18,3) AS price, i / 4 AS ratio, i % 2 = 0 AS even,
    DATE '2024-02-28' + i::INTEGER AS day, TIME '10:00:00' + to_seconds(i) AS at, TIMESTAMP '2024-02-28 23:59:59.5' + to_days(i::INTEGER) AS then,
    TIMESTAMPTZ '2024-02-28 23:59:59+02' AS moment, CASE WHEN i = 1 THEN NULL WHEN i = 2 THEN '' ELSE 'Zürich "x"' END AS city
    FROM range(1, 6) t(i)`;
  const template = '{{name}} {{small}} {{big}} {{price}} {{ratio}} {{even}} {{day}} {{at}} {{then}} {{moment}}';
  beforeAll(() =>
    runInDuckDb(
      ':memory:',
      "SET TimeZone = 'UTC'",
      `COPY (${table}) TO '${dir}/all.csv' (HEADER)`,
      `COPY (${table}) TO '${dir}/all.parquet'`,
    ),
  );

  it('has the same units as CSV and as Parquet', async () => {
    const csv = await stage(join(dir, 'all.csv'), { units: byTemplate(template) });
    const parquet = await stage(join(dir, 'all.parquet'), { units: byTemplate(template) });
    expect(parquet.rows.map(({ u }) => u)).toEqual(csv.rows.map(({ u }) => u));
    expect(parquet.rows.map(({ k }) => k)).toEqual(csv.rows.map(({ k }) => k));
    expect(parquet.rows.map(({ i }) => i.slice(0, 10))).toEqual(csv.rows.map(({ i }) => i.slice(0, 10)));
    expect(csv.manifest.types).toBeUndefined();
    expect(parquet.manifest.types).toEqual([
      ...['VARCHAR', 'INTEGER', 'BIGINT', 'DECIMAL(18,3)', 'DOUBLE', 'BOOLEAN', 'DATE', 'TIME', 'TIMESTAMP'],
      ...['TIMESTAMP WITH TIME ZONE', 'VARCHAR'],
    ]);
  });

  it('keeps NULL and an empty text apart', async () => {
    const { rows } = await stage(join(dir, 'all.parquet'));
    expect(rows.map(({ i }) => i[10])).toEqual([null, '', 'Zürich "x"', 'Zürich "x"', 'Zürich "x"']);
  });

  it('reads a NaN with a sign as nan, because PostgreSQL refuses its text', async () => {
    const nan = "-('nan'::DOUBLE)";
    await runInDuckDb(':memory:', `COPY (SELECT 'x' AS name, ${nan} AS n, [${nan}] AS l) TO '${dir}/nan.parquet'`);
    expect((await stage(join(dir, 'nan.parquet'))).rows[0]?.i).toEqual(['x', 'nan', '["nan"]']);
  });

  it('keeps cells of any length and any characters', async () => {
    const cells = [
      ...['', ':', '1,n,l:x', 'Zürich'],
      '𝒳'.repeat(9),
      '\uFEFFfirst',
      'a\u0000b',
      'l',
      'n',
      'ü'.repeat(5000),
      'x'.repeat(4096),
      `\uFEFF${'y'.repeat(4096)}`,
      '"\\\n\u0001'.repeat(600),
      null,
    ];
    const list = cells.map((cell) => (cell === null ? 'NULL' : `'${cell.replace('\u0000', "' || chr(0) || '")}'`));
    await runInDuckDb(
      ':memory:',
      `COPY (SELECT cell AS before, i AS name, cell, [cell] AS list FROM (SELECT unnest([${list.join()}]) AS cell, generate_subscripts([${list.join()}], 1) AS i))
       TO '${dir}/cells.parquet'`,
    );
    const { rows } = await stage(join(dir, 'cells.parquet'));
    expect(rows.map(({ i }) => i)).toEqual(
      // No database has NUL in JSON.
      cells.map((cell, index) => [cell, String(index + 1), cell, JSON.stringify([cell]).replace('\\u0000', '\ufffd')]),
    );
  });

  it('has the same units as JSON Lines', async () => {
    await runInDuckDb(':memory:', `COPY (SELECT * EXCLUDE price FROM (${table})) TO '${dir}/all.jsonl' (FORMAT json)`);
    const short = template.replace('{{price}} ', '');
    const csv = await stage(join(dir, 'all.csv'), { units: byTemplate(short) });
    const json = await stage(join(dir, 'all.jsonl'), { units: byTemplate(short) });
    expect(json.rows.map(({ u }) => u)).toEqual(csv.rows.map(({ u }) => u));
  });
});

describe('JSON Lines', () => {
  it('give columns of all objects in the order in which they first occur, with types', async () => {
    const path = file(
      'types.jsonl',
      [
        '{"name":"a","n":1,"x":1.5,"exact":12.500,"ok":true,"list":[1,{"b":2.50,"a":1}],"mixed":1}',
        '{"name":"b","n":null,"x":3,"exact":3,"late":12345678901234567890,"mixed":"1"}',
        '{"name":"","n":-7,"x":1e20,"list":[],"mixed":[true]}',
      ].join('\n'),
    );
    const { manifest, rows } = await stage(path, { units: byTemplate('{{n | default: "?"}}') });
    expect(manifest.columns).toEqual(['name', 'n', 'x', 'exact', 'ok', 'list', 'mixed', 'late']);
    expect(manifest.types?.join(' ')).toBe('VARCHAR BIGINT DOUBLE DECIMAL(18,3) BOOLEAN JSON VARCHAR HUGEINT');
    expect(rows.map(({ i }) => i)).toEqual([
      ['a', '1', '1.5', '12.500', 'true', '[1,{"a":1,"b":2.5}]', '1', null],
      ['b', null, '3.0', '3.000', null, null, '1', '12345678901234567890'],
      ['', '-7', '1e+20', null, null, '[]', '[true]', null],
    ]);
  });

  it('lose no digit of a number', async () => {
    const path = file(
      'digits.jsonl',
      '{"name":"a","big":9007199254740993,"price":12345678901234567.25,"long":1234567890123456789012345678901234567890}\n',
    );
    const { manifest, rows } = await stage(path);
    expect(manifest.types).toEqual(['VARCHAR', 'BIGINT', 'DECIMAL(38,2)', 'VARCHAR']);
    expect(rows[0]?.i.slice(1)).toEqual([
      '9007199254740993',
      '12345678901234567.25',
      '1234567890123456789012345678901234567890',
    ]);
  });

  it('keep numbers that no type holds as texts', async () => {
    const path = file(
      'odd.jsonl',
      '{"name":"a","x":1e999,"y":1.234567890123456789e5,"z":-0}\n{"name":"b","x":1,"y":2,"z":1}',
    );
    const { manifest, rows } = await stage(path);
    expect(manifest.types).toEqual(['VARCHAR', 'VARCHAR', 'VARCHAR', 'BIGINT']);
    expect(rows.map(({ i }) => i.slice(1))).toEqual([
      ['1e999', '1.234567890123456789e5', '0'],
      ['1', '2', '1'],
    ]);
  });

  it('have bad lines where a value is nested too deeply', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const { manifest } = await stage(file('deep.jsonl', `{"name":"a","constructor":1}\n{"name":"b","deep":${deep}}\n`));
    expect(manifest.firstBad.map(({ message }) => message)).toEqual(['line 2: a list or object is nested too deeply']);
  });

  it('lose only a bad line, which is named', async () => {
    const path = file('bad.jsonl', '\n{"name":"a"}\n{"name":"b"\n[1]\n{"name":"c"}');
    const { manifest, rows } = await stage(path);
    expect(rows.map(({ i, e }) => [i, e])).toEqual([
      [['a'], null],
      [[null, '{"name":"b"'], 'JSON_INVALID'],
      [[null, '[1]'], 'JSON_INVALID'],
      [['c'], null],
    ]);
    expect(manifest.firstBad.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^line 3: not valid JSON \(/),
      'line 4: not a JSON object: "[1]"',
    ]);
  });

  it('may be one list of objects, of any form', async () => {
    const text = '[\n  {"name": "a, [x]"},\n\n  {"name": "b\\"]",\n   "n": [1, 2]}, {"name":"c"}\n]\n';
    const { rows } = await stage(file('list.json', text));
    expect(rows.map(({ i }) => i)).toEqual([
      ['a, [x]', null],
      ['b"]', '[1,2]'],
      ['c', null],
    ]);
    const chunks = Readable.from(Array.from(text, (char) => Buffer.from(char)));
    const pieces = await Readable.from(jsonPieces(chunks, undefined, undefined)).toArray();
    expect(pieces.flat().map(({ line }) => line)).toEqual([2, 4, 5]);
    expect(await refusal(file('cut.json', '[{"name":"a"},{"na'))).toBe(
      'line 1: the list of JSON values ends in the middle',
    );
  });

  it('are read from gzip and from standard input', async () => {
    const text = '{"name":"ä"}\n{"name":"b"}\n';
    const zipped = await stage(file('zipped.jsonl.gz', gzipSync(text)));
    const piped = await stage('-', { piped: file('piped', text), format: 'jsonl' });
    expect(piped.rows).toEqual(zipped.rows);
    expect(piped.manifest.contentHash).toBe(zipped.manifest.contentHash);
  });

  it('are refused without any object, with the first line that is none', async () => {
    expect(await refusal(file('cut.jsonl', '{"url":1'))).toMatch(
      /^The input has no JSON object: line 1: not valid JSON \(/,
    );
    expect(await refusal(file('empty.jsonl', ''))).toBe('The input is empty: it has no rows');
    expect(await refusal(file('none.jsonl', '1\n2\n'))).toBe(
      'The input has no JSON object: line 1: not a JSON object: "1". Each line must be an object, such as {"url": "https://…"}',
    );
  });
});

describe('the format of a file', () => {
  it('that is named like a database is not guessed', async () => {
    const named = file('no.duckdb', 'url\nhttps://example.com\n');
    expect(await refusal(named)).toBe(`${named} is not a DuckDB database: pass --format, or correct its name`);
  });

  it('is checked against its first bytes', async () => {
    await runInDuckDb(
      ':memory:',
      `COPY (SELECT 1 AS name) TO '${dir}/really.csv' (FORMAT parquet)`,
      `ATTACH '${dir}/really.duckdb' AS x`,
      'CREATE TABLE x.t (a INT)',
    );
    expect(await refusal(join(dir, 'really.csv'))).toMatch(/is a Parquet file and not CSV: pass --format parquet/);
    expect((await stage(join(dir, 'really.csv'), { format: 'parquet' })).rows).toHaveLength(1);
    expect(await refusal(file('text.parquet', 'name\na\n'))).toMatch(/is not a Parquet file: pass --format csv/);
    expect(await refusal(join(dir, 'really.duckdb'))).toMatch(
      /is a DuckDB database: name its rows with --table NAME or --sql/,
    );
    expect(await refusal('-', { format: 'parquet' })).toMatch(/^Parquet cannot be read from standard input/);
    expect((await stage(file('rows.dat', '{"name":1}'), { format: 'jsonl' })).rows).toHaveLength(1);
  });

  it('damaged Parquet is refused with its name', async () => {
    await runInDuckDb(':memory:', `COPY (SELECT 'a' AS name FROM range(1000)) TO '${dir}/cut.parquet'`);
    writeFileSync(join(dir, 'cut.parquet'), readFileSync(join(dir, 'cut.parquet')).subarray(0, 200));
    expect(await refusal(join(dir, 'cut.parquet'))).toMatch(/cut\.parquet cannot be read as Parquet \(/);
  });
});

describe('many files', () => {
  const folder = (name: string, files: Readonly<Record<string, string>>) => {
    mkdirSync(join(dir, name));
    for (const [one, text] of Object.entries(files)) writeFileSync(join(dir, name, one), text);
    return join(dir, name);
  };

  it('of a folder are one table, in the order of their names', async () => {
    const path = folder('csvs', {
      'b.csv': 'name;n\nc;3\nd\n',
      'a.csv': 'name,n\na,1\n',
      '.hidden.csv': 'x\n1\n',
      'notes.md': 'x',
    });
    const { manifest, rows } = await stage(path);
    expect(rows.map(({ i }) => i)).toEqual([['a', '1'], ['c', '3'], ['d']]);
    expect(manifest.firstBad[0]?.message).toBe('b.csv, line 3, column 2 ("n"): the row has 1 cells, the header 2');
    writeFileSync(join(path, 'b.csv'), 'name,n\nc,4\n');
    const again = await stage(path);
    expect(again.manifest.contentHash).not.toBe(manifest.contentHash);
  });

  it('of a pattern are one table, also as JSON Lines and Parquet', async () => {
    const path = folder('mixed', { '1.jsonl': '{"name":"a","n":1}', '2.jsonl': '{"name":"b","m":1.5}\nx' });
    const json = await stage(join(path, '*.jsonl'));
    expect(json.manifest.columns).toEqual(['name', 'n', 'm']);
    expect(json.manifest.types).toEqual(['VARCHAR', 'BIGINT', 'DOUBLE']);
    expect(json.manifest.firstBad[0]?.message).toMatch(/^2\.jsonl, line 2: not valid JSON/);
    await runInDuckDb(
      ':memory:',
      `COPY (SELECT 'b' AS name) TO '${path}/2.parquet'`,
      `COPY (SELECT 'a' AS name) TO '${path}/1.parquet'`,
    );
    expect((await stage(join(path, '?.parquet'))).rows.map(({ i }) => i)).toEqual([['a'], ['b']]);
    expect((await stage(path, { format: 'parquet' })).rows).toHaveLength(2);
    expect(await refusal(path)).toMatch(
      /has files of several formats \(jsonl, parquet\): name those of one format, such as .*\*\.jsonl$/,
    );
  });

  it('need the same columns', async () => {
    const path = folder('other', { 'a.csv': 'name,n\na,1\n', 'b.csv': 'name,m\nb,1\n' });
    expect(await refusal(path)).toMatch(
      /b\.csv has other columns than .*a\.csv: it lacks "n"\. All files of one input need the same columns$/,
    );
    await runInDuckDb(
      ':memory:',
      `COPY (SELECT 'a' AS name, 1 AS n) TO '${path}/1.parquet'`,
      `COPY (SELECT 'a' AS name, 1.5 AS n) TO '${path}/2.parquet'`,
    );
    expect(await refusal(join(path, '*.parquet'))).toMatch(
      /2\.parquet has other columns than .*1\.parquet: "n" is DECIMAL\(2,1\) and not INTEGER/,
    );
  });

  it('are refused if there is none, or if one of them is not allowed', async () => {
    expect(await refusal(join(dir, 'none-*.csv'))).toMatch(/^No file matches .*none-\*\.csv$/);
    expect(await refusal(folder('empty', { 'notes.md': '' }))).toMatch(/empty has no CSV, JSON Lines or Parquet file$/);
    const path = folder('links', { 'a.csv': 'name\na\n' });
    const seen: string[][] = [];
    const checkFiles = async (files: readonly string[]) => void seen.push([...files]);
    await stage(path, { checkFiles });
    expect(seen).toEqual([[join(path, 'a.csv')]]);
  });
});

const byUrl: UnitSource = { kind: 'url', column: 'url' };

it('half of a character in JSON Lines becomes U+FFFD in cells, units, keys, lists, objects and names', async () => {
  const line = String.raw`{"id":"a\ud83d","url":"https://a.example/\udc00x","whole":"\ud83d\ude00 \\ud83d","deep":{"k\ud83d":["\ud800",{"n\u0000":"\u0000\\u0000"}]},"na\u0000me\ud83d":"x\u0000"}`;
  const { manifest, rows } = await stage(file('odd.jsonl', `${line}\n`), { units: byUrl, key: ['id'] });
  expect(manifest.columns).toEqual(['id', 'url', 'whole', 'deep', 'na\ufffdme\ufffd']);
  expect(manifest.renamed).toEqual([{ column: 5, name: 'na\ufffdme\ufffd' }]);
  expect(rows[0]?.i).toEqual([
    'a\ufffd',
    'https://a.example/\ufffdx',
    '😀 \\ud83d',
    '{"k\ufffd":["\ufffd",{"n\ufffd":"\ufffd\\\\u0000"}]}',
    'x\0',
  ]);
  const made = await stage(join(dir, 'odd.jsonl'), { units: byTemplate('{{id}} {{deep}}') });
  expect(JSON.parse(made.rows[0]?.u as string).query).toBe(
    'a\ufffd {"k\ufffd":["\ufffd",{"n\ufffd":"\ufffd\\\\u0000"}]}',
  );
});

it('names that become equal get different names', async () => {
  const { manifest } = await stage(
    file('names.jsonl', String.raw`{"a\ud83d":1,"a\ud83e":2,"a\u0000":3,"url":"https://a.example/"}`),
    { units: byUrl },
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
  await expect(stage(file('odd.csv', bytes), { units: byUrl })).rejects.toThrow(
    /^line 2, character 19: .*half a character|^line 2, character 19: .*the byte 0x/,
  );
});
