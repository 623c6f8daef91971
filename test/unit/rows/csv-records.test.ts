import { fc, test } from '@fast-check/vitest';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { type CsvRecord, CsvRecords } from '../../../src/rows/csv/csv-records.js';

function readAll(text: string, delimiter: string | null = null, chunk = text.length): CsvRecord[] {
  const records = new CsvRecords(delimiter);
  const all: CsvRecord[] = [];
  for (let at = 0; at < text.length; at += chunk) all.push(...records.read(text.slice(at, at + chunk), false));
  all.push(...records.read('', true));
  return all;
}

const cells = (text: string, delimiter: string | null = null) => readAll(text, delimiter).map((record) => record.cells);

describe('CsvRecords', () => {
  it('reads LF, CRLF and CR files alike', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      expect(cells(['a,b', '1,2', '"x""y",'].join(end))).toEqual([
        ['a', 'b'],
        ['1', '2'],
        ['x"y', ''],
      ]);
      expect(cells(['a,b', '1,2', ''].join(end))).toHaveLength(2);
    }
  });

  it('keeps line breaks inside of quotes and counts them as lines', () => {
    const [, first, second] = readAll('a,b\n"one\n\ntwo",2\n3,4\n');
    expect(first).toMatchObject({ line: 2, cells: ['one\n\ntwo', '2'] });
    expect(second).toMatchObject({ line: 5, cells: ['3', '4'] });
  });

  it('skips blank lines, but not rows of one empty cell in quotes', () => {
    expect(cells('\n\na\n\n1\n""\n\n')).toEqual([['a'], ['1'], ['']]);
    expect(readAll('a\n\n\n1\n')[1]?.line).toBe(4);
  });

  it('finds the delimiter that occurs most in the first line, outside of quotes', () => {
    expect(cells('a;b;"c,,,,"\n1;2;3')).toEqual([
      ['a', 'b', 'c,,,,'],
      ['1', '2', '3'],
    ]);
    expect(cells('a\tb,c\td\n')).toEqual([['a', 'b,c', 'd']]);
    expect(cells('a|b\n')).toEqual([['a', 'b']]);
    expect(cells('a,b;c\n')).toEqual([['a', 'b;c']]);
    expect(cells('one\ntwo;three\n')).toEqual([['one'], ['two;three']]);
    expect(cells('a;b,c\n', ',')).toEqual([['a;b', 'c']]);
  });

  it('limits the damage of a stray quote to its own line, and reports its position', () => {
    const records = readAll('a,b\n1,5" pipe\n"x"y,2\n3,4\n');
    expect(records[1]).toMatchObject({ line: 2, cells: ['1,5" pipe'], problem: { tag: 'CSV_INVALID', column: 2 } });
    expect(records[1]?.problem?.message).toContain('character 4');
    expect(records[2]).toMatchObject({ line: 3, cells: ['"x"y,2'], problem: { tag: 'CSV_INVALID', column: 1 } });
    expect(records[3]).toMatchObject({ line: 4, cells: ['3', '4'], problem: null });
  });

  it('recovers the good rows after an unclosed quote', () => {
    const records = readAll('a,b\n1,"open\n2,good\n3,good\n"4","also, good"\n5,good\n');
    expect(records.map(({ cells: [first], problem }) => problem?.tag ?? first)).toEqual([
      'a',
      'CSV_INVALID',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(records[1]).toMatchObject({ line: 2, cells: ['1,"open'] });
    expect(records[1]?.problem?.message).toContain('line 5');
  });

  it('names the quote that is never closed', () => {
    expect(() => readAll('a,b\n1,2\n3,"open\n4,5\n')).toThrow(
      /^line 3, column 2, character 3: a quote is opened here and never closed/,
    );
  });

  it('refuses a record beyond 16 MiB, naming the cell', () => {
    const big = 'x'.repeat(1024 * 1024);
    const read = (cell: string) => {
      const records = new CsvRecords(null);
      records.read(`a,b\n1,2\n3,${cell}`, false);
      for (let part = 0; part < 20; part++) records.read(big, false);
    };
    expect(() => read('')).toThrow(
      /^line 3, column 2, character 3: the cell that begins here makes a row of more than 16 MiB/,
    );
    expect(() => read('"')).toThrow(
      /^line 3, column 2, character 3: the quote that is opened here makes a row of more than 16 MiB/,
    );
  });

  it('makes one bad record of a row of a million cells', () => {
    const [, row] = readAll(`a,b\n${','.repeat(1_000_000)}\n1,2\n`);
    expect(row?.problem).toMatchObject({ tag: 'CSV_RAGGED' });
    expect(row?.cells).toHaveLength(1);
  });

  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', ' ', 'é', '😀'), maxLength: 8 });
  const table = fc
    .integer({ min: 2, max: 4 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }));
  const quote = (text: string) => (/[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  test.prop([table, fc.constantFrom('\n', '\r\n', '\r'), fc.integer({ min: 1, max: 9 })])(
    'reads back written records and agrees with csv-parse, with any split into chunks',
    (rows, end, chunk) => {
      const text = `h${',h'.repeat((rows[0]?.length ?? 1) - 1)}${end}${rows.map((row) => row.map(quote).join(',')).join(end)}${end}`;
      const read = readAll(text, ',', chunk);
      expect(read.map((record) => record.cells).slice(1)).toEqual(rows);
      const theirs: string[][] = parse(text, { record_delimiter: end });
      expect(read.map((record) => record.cells)).toEqual(theirs);
    },
  );

  test.prop([fc.string({ unit: fc.constantFrom('a', '"', ',', '\n'), maxLength: 40 }), fc.integer({ min: 1, max: 5 })])(
    'loses no character of any text, with the same result for every split into chunks',
    (text, chunk) => {
      const attempt = (size: number) => {
        try {
          return readAll(`h,h\n${text}`, ',', size);
        } catch (error) {
          return String(error);
        }
      };
      const whole = attempt(1000);
      expect(attempt(chunk)).toEqual(whole);
      if (typeof whole === 'string') return;
      const kept = whole
        .slice(1)
        .flatMap((record) => record.cells)
        .join('')
        .replace(/[",\n]/g, '');
      expect(kept).toBe(text.replace(/[",\n]/g, ''));
    },
  );
});
