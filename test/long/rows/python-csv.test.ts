import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CsvRecords } from '../../../src/rows/csv-records.js';
import type { CsvRecord } from '../../../src/rows/header.js';

/** Reads a JSON list of texts; writes a JSON list with the rows of each text, or null if the text is not valid CSV. */
const script = `
import csv, io, json, sys
def rows(text):
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=''), strict=True) if row]
    except csv.Error:
        return None
json.dump([rows(text) for text in json.load(sys.stdin)], sys.stdout)
`;

function readWithPython(texts: readonly string[]): (string[][] | null)[] {
  const { stdout, stderr, error } = spawnSync('python3', ['-c', script], {
    input: JSON.stringify(texts),
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  if (error) throw new Error('this test compares with the csv module of Python 3: install python3', { cause: error });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as (string[][] | null)[];
}

function read(text: string, chunk: number): CsvRecord[] {
  const records = new CsvRecords(',');
  const all: CsvRecord[] = [];
  for (let at = 0; at < text.length; at += chunk) all.push(...records.read(text.slice(at, at + chunk), false));
  return [...all, ...records.read('', true)];
}

const cell = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '"', ',', '\n', '\r'), maxLength: 12 });
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');

it('a table that was written as CSV has the same cells as with the csv module of Python', () => {
  const table = fc
    .integer({ min: 1, max: 5 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 20 }));
  const quote = (text: string) => (text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const texts = fc
    .sample(fc.tuple(table, lineEnd), 3000)
    .map(([rows, end]) => [['h'], ...rows].map((row) => `${row.map(quote).join(',')}${end}`).join(''));
  const theirs = readWithPython(texts);
  for (const [index, text] of texts.entries())
    expect(
      read(text, 1 + (index % 50)).map(({ cells, problem }) => problem ?? cells),
      JSON.stringify(text),
    ).toEqual(theirs[index]);
});

it('a damaged text without a bad record has the same cells as with the csv module of Python', () => {
  const unit = fc.constantFrom('a', 'é', ' ', '"', ',', ',', '\n');
  const texts = fc
    .sample(fc.array(fc.string({ unit, maxLength: 12 }), { maxLength: 8 }), 20_000)
    .map((lines) => `h,h\n${lines.map((line) => `${line}\n`).join('')}`);
  const theirs = readWithPython(texts);
  let [whole, stray] = [0, 0];
  for (const [index, text] of texts.entries()) {
    const ours = read(text, 1 + (index % 50));
    // Python keeps white space around a quoted cell, and its quotes.
    if (ours.some(({ problem }) => problem !== null) || / "|" /.test(text)) continue;
    whole++;
    if (ours.some(({ cells }) => cells.some((one) => /[^"]"/.test(one)))) stray++;
    expect(
      ours.map(({ cells }) => cells),
      JSON.stringify(text),
    ).toEqual(theirs[index]);
  }
  expect(whole).toBeGreaterThan(5000);
  expect(stray).toBeGreaterThan(200);
});
