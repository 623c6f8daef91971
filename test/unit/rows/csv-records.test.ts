import { fc, test } from '@fast-check/vitest';
import { CsvError, type Options, parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { CsvRecords } from '../../../src/rows/csv-records.js';
import type { CsvRecord } from '../../../src/rows/header.js';

/** Reads a text in pieces of `chunk` characters. */
function readAll(text: string, delimiter: string | null = null, chunk = text.length): CsvRecord[] {
  const records = new CsvRecords(delimiter);
  const all: CsvRecord[] = [];
  const characters = [...text];
  for (let at = 0; at < characters.length; at += chunk)
    all.push(...records.read(characters.slice(at, at + chunk).join(''), false));
  do all.push(...records.read('', true));
  while (records.isBehind);
  return all;
}

const cells = (text: string, delimiter: string | null = null) => readAll(text, delimiter).map((record) => record.cells);

describe('CsvRecords', () => {
  it('returns millions of short lines after a quote that is never closed in bounded pieces', () => {
    const records = new CsvRecords(',');
    const sizes: number[] = [records.read(`name\n"${'x\n'.repeat(400_000)}`, false).length];
    do sizes.push(records.read('', true).length);
    while (records.isBehind);
    expect(sizes.reduce((sum, one) => sum + one, 0)).toBe(400_001);
    expect(Math.max(...sizes)).toBeLessThan(300_000);
  });

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

  it('takes the delimiter from a first line such as sep=; and skips the line', () => {
    for (const first of ['sep=;', 'SEP=;', '"sep=;"']) {
      for (const end of ['\n', '\r\n', '\r']) {
        for (const chunk of [1, 100]) {
          const records = readAll([first, 'a,b;c', '1,2;3'].join(end), null, chunk);
          expect(records).toMatchObject([
            { line: 2, cells: ['a,b', 'c'] },
            { line: 3, cells: ['1,2', '3'] },
          ]);
        }
      }
    }
    expect(cells('sep=\t\na\tb\n')).toEqual([['a', 'b']]);
    expect(cells('sep=§\na§b\n')).toEqual([['a', 'b']]);
    // --delimiter has precedence.
    expect(cells('sep=;\na,b;c\n', ',')).toEqual([['a', 'b;c']]);
    expect(cells('sep=;x\n1;2\n')).toEqual([
      ['sep=', 'x'],
      ['1', '2'],
    ]);
    expect(readAll('a\n', null, 1)).toMatchObject([{ line: 1, cells: ['a'] }]);
  });

  it('keeps a stray quote in an unquoted cell of a line that has as many cells as the header', () => {
    expect(readAll('a,b\n1,12" disk\n5" pipe,24" screen\nsay "hi" now,2\n3,4"\n')).toMatchObject([
      { line: 1, cells: ['a', 'b'] },
      { line: 2, cells: ['1', '12" disk'], problem: null },
      { line: 3, cells: ['5" pipe', '24" screen'], problem: null },
      { line: 4, cells: ['say "hi" now', '2'], problem: null },
      { line: 5, cells: ['3', '4"'], problem: null },
    ]);
  });

  it('reads quoted cells with white space around them, in the header too', () => {
    const rows = [
      ['name', 'web site'],
      ['A "x", y', 'https://a.example'],
      ['', ' '],
    ];
    for (const [text, delimiter] of [
      ['name, "web site"\n"A ""x"", y", "https://a.example"\n"", " "\n', null],
      ['name,\t"web site" \r\n"A ""x"", y" ,\u00a0"https://a.example"\r\n ""\t," "\r\n', ','],
      ['sep=;\n"name"; "web site"\n  "A ""x"", y"  ;"https://a.example"\n"" ; " "\n', null],
      ['\ufeff"name"\t "web site"\n"A ""x"", y" \t "https://a.example"\n""\t " "', '\t'],
    ] as const)
      expect(cells(text, delimiter)).toEqual(rows);
    // White space within a quoted cell stays, and other cells keep theirs.
    expect(cells('a,b,c\n"1, """", 2", "x", y \n')[1]).toEqual(['1, "", 2', 'x', ' y ']);
    expect(readAll('a,b\n1, "x" y\n')[1]).toMatchObject({ cells: ['1', ' "x" y'], problem: null });
    expect(readAll('a,b\n"1", "x" y\n3,4\n').map(({ problem }) => problem?.tag ?? null)).toEqual([null, null, null]);
  });

  it('limits the damage of a misplaced quote to its own line, and reports its position', () => {
    const records = readAll('a,b\n1,2,5" pipe\n"x"y,2\n3,4\n');
    expect(records[1]).toMatchObject({ line: 2, cells: ['1,2,5" pipe'], problem: { tag: 'CSV_INVALID', column: 3 } });
    expect(records[1]?.problem?.message).toContain('character 6');
    expect(records[2]).toMatchObject({ line: 3, cells: ['"x"y,2'], problem: { tag: 'CSV_INVALID', column: 1 } });
    expect(records[3]).toMatchObject({ line: 4, cells: ['3', '4'], problem: null });
  });

  it('refuses a line where a delimiter may belong to a quoted text, although the number of cells fits', () => {
    // The separator before "Table, Round" is missing.
    const [, missing, quoted] = readAll('a,b,c\n1,$78"Table, Round"\n"1"x, y",2\n');
    expect(missing).toMatchObject({ cells: ['1,$78"Table, Round"'], problem: { tag: 'CSV_INVALID', column: 2 } });
    expect(quoted).toMatchObject({ cells: ['"1"x, y",2'], problem: { tag: 'CSV_INVALID', column: 1 } });
  });

  it('reads the header strictly', () => {
    expect(readAll('a,b"\n1,2\n')[0]).toMatchObject({ cells: ['a,b"'], problem: { tag: 'CSV_INVALID', column: 2 } });
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

  it('makes one bad record of a quote that is never closed, and reads the lines after it', () => {
    const records = readAll('a,b\n1,2\n3,"open\n4,5\n6,7');
    expect(records.map(({ line, cells: [first] }) => [line, first])).toEqual([
      [1, 'a'],
      [2, '1'],
      [3, '3,"open'],
      [4, '4'],
      [5, '6'],
    ]);
    expect(records[2]?.problem).toMatchObject({ tag: 'CSV_INVALID', column: 2 });
    expect(records[2]?.problem?.message).toBe(
      'a quote is opened here (character 3) and never closed; close it, or double it if it belongs to the text',
    );
  });

  it('waits at most 4 MiB for the end of a quoted cell', () => {
    const records = new CsvRecords(null);
    const lines = `${'x'.repeat(1024 * 1024)},y\n`;
    const all = records.read('a,b\n1,"open\n', false);
    for (let part = 0; part < 5; part++) all.push(...records.read(lines, false));
    all.push(...records.read('2,3\n', true));
    expect(all).toHaveLength(8);
    expect(all[1]).toMatchObject({ line: 2, cells: ['1,"open'], problem: { tag: 'CSV_INVALID', column: 2 } });
    expect(all[1]?.problem?.message).toContain('not closed within 4 MiB');
    expect(all[7]).toMatchObject({ line: 8, cells: ['2', '3'], problem: null });
  });

  it('refuses a line beyond 4 MiB, naming the cell', () => {
    const big = 'x'.repeat(1024 * 1024);
    const read = (cell: string) => {
      const records = new CsvRecords(null);
      records.read(`a,b\n1,2\n3,${cell}`, false);
      for (let part = 0; part < 20; part++) records.read(big, false);
    };
    expect(() => read('')).toThrow(
      /^line 3, column 2, character 3: the cell that begins here makes a row of more than 4 MiB/,
    );
    expect(() => read('"')).toThrow(
      /^line 3, column 2, character 3: the quote that is opened here makes a row of more than 4 MiB/,
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

  const damaged = fc.string({ unit: fc.constantFrom('a', '"', '"', ',', ',', '\n', '\r', 'é'), maxLength: 60 });

  test.prop([damaged, fc.constantFrom('\n', '\r\n', '\r'), fc.integer({ min: 1, max: 70 })])(
    'reads each record strictly, and the first line of a record with an error alone',
    (body, end, chunk) => {
      const text = `h,h${end}1,2${end}${body}`;
      const lineEnd = end === '\r' ? '\r' : '\n';
      const options = {
        record_delimiter: end === '\r' ? ['\r'] : ['\r\n', '\n'],
        relax_column_count: true,
        skip_empty_lines: true,
        info: true,
      };
      const read = (from: string, more: Options) =>
        parse(from, { ...options, ...more }) as unknown as { record: string[]; info: { bytes: number } }[];
      let rest = Buffer.from(lineEnd === '\n' ? text.replace(/\r$/, '\r\n') : text);
      for (const { cells: found, problem } of readAll(text, ',', chunk)) {
        const blank = new RegExp(lineEnd === '\r' ? '^\r+' : '^(\r?\n)+').exec(rest.toString());
        rest = rest.subarray(blank?.[0].length ?? 0);
        const stop = rest.indexOf(lineEnd);
        const line = rest.subarray(0, stop === -1 ? rest.length : stop).toString();
        const alone = lineEnd === '\n' ? line.replace(/\r$/, '') : line;
        try {
          const [strict] = read(rest.toString(), { to: 1 });
          expect([found, problem]).toEqual([strict?.record, null]);
          rest = rest.subarray(strict?.info.bytes);
          continue;
        } catch (error) {
          if (!(error instanceof CsvError)) throw error;
        }
        if (problem === null) {
          expect([found]).toEqual(read(alone, { relax_quotes: true }).map(({ record }) => record));
          expect(found).toHaveLength(2);
        } else expect(found).toEqual([alone]);
        rest = rest.subarray(stop === -1 ? rest.length : stop + 1);
      }
      expect(rest.toString().replace(/[\r\n]/g, '')).toBe('');
    },
  );

  it('loses no good row of 252 files with one stray quote each', () => {
    const rows = Array.from({ length: 27 }, (_, row) => [
      `${row}/01/2018`,
      `${row % 24}:00`,
      String(row % 5),
      `MG-${row}`,
      `$${row}.69`,
      row % 3 === 0 ? `"Table, Round ${row}"""` : "Men's Boots",
      '"Rugged, yet light"',
      `"https://example.com/${row}"`,
      '',
    ]);
    const table = [['DATE', 'TIME', 'Qty', 'ID', 'Price', '"Type"', '"Text"', 'URL', 'Notes'], ...rows];
    const join = (all: readonly (readonly string[])[]) => all.map((row) => `${row.join(',')}\n`).join('');
    const whole = cells(join(table)).map((row) => JSON.stringify(row));
    const lost = { bad: 0, kept: 0, good: 0, inSkipMode: 0 };
    for (const [at, row] of table.entries()) {
      for (const column of row.keys()) {
        const text = join(table.with(at, row.with(column, `"${row[column]}`)));
        const found = readAll(text, ',');
        const read = new Set(found.filter(({ problem }) => problem === null).map((one) => JSON.stringify(one.cells)));
        lost.good += whole.filter((one, index) => index !== at && !read.has(one)).length;
        if (found[at]?.problem) lost.bad++;
        else lost.kept++;
        const skipped = parse(text, { skip_records_with_error: true }).map((one) => JSON.stringify(one));
        lost.inSkipMode += whole.filter((one, index) => index !== at && !skipped.includes(one)).length;
      }
    }
    expect(lost).toEqual({ bad: 252, kept: 0, good: 0, inSkipMode: 28 });
  });
});
