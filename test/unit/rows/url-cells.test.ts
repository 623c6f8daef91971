import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { createTransport } from '../../../src/api/transport.js';
import type { JobEntry } from '../../../src/core/job-entry-schemas.js';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { readSlice, sliceFile } from '../../../src/rows/index.js';
import { toUrl, urlProblem, withScheme } from '../../../src/rows/url-problem.js';
import { stageEnrichment } from '../../../src/worker/staging/stage-job.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
const transport = createTransport({ baseUrl: 'http://127.0.0.1:9', apiKey: null });
afterAll(() => transport.close());

const context = { stateDir: dir, origin: 'sandbox', cwd: dir, concurrency: 50, transport, shared: false };
const common = { urlColumn: null, delimiter: null, job: null, into: null, options: {}, batch: 100 };

/** Stages a table as a command does. `before`: the entry of an earlier run of the job; by default there was none. */
function stage(
  rows: readonly (readonly string[])[],
  request: Partial<EnrichCsvInput> = {},
  before: JobEntry | null = null,
) {
  writeFileSync(join(dir, 'rows.csv'), stringify(rows.map((row) => [...row])));
  return stageEnrichment(
    { ...context, jobs: async () => (before === null ? [] : [before]) },
    { ...common, input: 'rows.csv', ...request },
  );
}

const table = (columns: Readonly<Record<string, (row: number) => string>>, rows = 100) => [
  Object.keys(columns),
  ...Array.from({ length: rows }, (_, row) => Object.values(columns).map((cell) => cell(row))),
];

describe('a URL without a scheme', () => {
  it.each([
    ['firma.de', 'https://firma.de'],
    ['www.firma0.de', 'https://www.firma0.de'],
    ['firma.de/impressum?a=b#c', 'https://firma.de/impressum?a=b#c'],
    ['//x.yz/a', 'https://x.yz/a'],
    ['firma.de:8080', 'https://firma.de:8080'],
    ['93.184.216.34:80/x', 'https://93.184.216.34:80/x'],
    ['Firma.DE', 'https://Firma.DE'],
    ['müller-söhne.de', 'https://müller-söhne.de'],
    ['пример.рф', 'https://пример.рф'],
    ['xn--mller-kva.xn--p1ai', 'https://xn--mller-kva.xn--p1ai'],
    ['medium.com/@ann', 'https://medium.com/@ann'],
    ['firma.de.', 'https://firma.de.'],
  ])('is read as %s', (text, url) => {
    expect(withScheme(text, 'https')).toBe(url);
    expect(urlProblem(text, 'https')).toBeNull();
    expect(urlProblem(text)).toContain(`--default-scheme https reads it as ${JSON.stringify(url)}`);
  });

  it.each([
    ...['n/a', '-', 'none', 'Acme', 'Acme Inc.', 'e.g.', 'localhost', 'localhost:8080', '3.14', '1.2.3', '1.2.3.4.5'],
    ...['999.1.1.1', 'firma .de', 'firma.de, firma.com', 'www,firma.de', '.de', 'firma..de', '-firma.de', '/impressum'],
    ...['?q=1', 'ftp://firma.de', 'mailto:info@firma.de', 'info@firma.de', 'user:pass@firma.de', 'http:/firma.de'],
    ...['http//firma.de', 'https:firma.de', 'firma.de\\x', 'firma.de:port', 'firma.de:99999', '[::1]', 'javascript:1'],
    ...['firma.de/a b', 'firma.de\n/x', `${'a'.repeat(3000)}.de`, '///firma.de', 'a%2eb.de', 'tel:+49301234'],
  ])('is not made of %j', (text) => {
    expect(withScheme(text, 'https')).toBeNull();
    expect(urlProblem(text, 'https')).not.toBeNull();
    expect(urlProblem(text)).not.toContain('--default-scheme');
  });

  it('is distinguished from an e-mail address, and a URL with a scheme is left unchanged', () => {
    expect(urlProblem('info@firma.de', 'https')).toContain('it is an e-mail address');
    expect(urlProblem('HTTP://firma.de', 'https')).toBeNull();
  });

  it('is bought with the scheme, its cell stays unchanged, and equal ones are one URL', async () => {
    const rows = [
      ['id', 'url'],
      ['1', ' firma.de '],
      ['2', 'https://firma.de'],
      ['3', 'n/a'],
      ['4', 'HTTP://b.de'],
      ['5', ''],
    ];
    const { staged, manifest } = await stage(rows, { defaultScheme: 'https' });
    const slice = await readSlice(sliceFile(staged.stageDir, 0));
    expect(slice.map(({ u, e, i }) => [u, e, i[1]])).toEqual([
      ['https://firma.de', null, ' firma.de '],
      ['https://firma.de', null, 'https://firma.de'],
      ['n/a', 'INVALID_URL', 'n/a'],
      ['HTTP://b.de', null, 'HTTP://b.de'],
      [null, 'MISSING_URL', ''],
    ]);
    expect(manifest).toMatchObject({ distinctUnits: 2, urlCells: { filled: 4, urls: 3, withoutScheme: 0 } });
    const plain = await stage(rows);
    expect(plain.manifest.urlCells).toMatchObject({ filled: 4, urls: 2, withoutScheme: 1 });
    expect(plain.staged.generation).not.toBe(staged.generation);
    expect(plain.staged.job).toBe(staged.job);
  });
});

describe('a URL that the request would refuse', () => {
  it.each([
    ['https:///x', 'no host'],
    ['https://:80/', 'no host'],
    ['https://ann:s3cret@x.example/', 'a user or a password'],
    ['https://https://x.example/', 'two schemes'],
    ['https://*.x.example/', 'a character that no host has'],
    ['https://a..example/', 'two dots in a row'],
    ['https://x.example:0/', 'port 0'],
    [`https://${'a'.repeat(64)}.example/`, 'too long'],
    [`https://${'ü'.repeat(60)}.example/`, 'too long'],
    ['https://256.256.256.256/', 'not a valid URL'],
    ['http://x.example:99999/', 'not a valid URL'],
    ['http://x.example/a b', 'white space inside; write a space as %20'],
    ['http://x.example/a\tb', 'control character'],
    [`http://x.example/${'a'.repeat(2048)}`, '2048 is the limit'],
    ['javascript:alert(1)', 'does not begin with http'],
    ['mailto:ann@x.example', 'it is an e-mail address'],
    ['\u200bhttps://x.example/', 'does not begin with http'],
  ])('is a bad row: %j has %s', async (url, problem) => {
    expect(urlProblem(url, 'https')).toContain(problem);
    const { manifest } = await stage([['url'], [url], ['https://good.example/']], { defaultScheme: 'https' });
    expect(manifest.firstBad.map(({ row, tag }) => [row, tag])).toEqual([[1, 'INVALID_URL']]);
    expect(manifest.firstBad[0]?.message).toContain(problem);
  });

  it.each([
    'https://ann:s3cret@x.example/',
    'https://ann:s3cret@x.example/a b',
    'https://ann:s3cret@/',
    'https://ann:s3cret@[::1',
    'http://ann:s3cret@x.example/\0',
    'ann:s3cret@x.example',
    'ftp://ann:s3cret@x.example/',
    '//ann:s3cret@x.example',
  ])('is shown without its password: %j', async (url) => {
    const { manifest, staged } = await stage([['url'], [url], ['https://good.example/']], { defaultScheme: 'https' });
    expect(manifest.firstBad).toHaveLength(1);
    expect(JSON.stringify([manifest.firstBad, manifest.notes, staged])).not.toContain('s3cret');
  });

  it('is none with 63 letters between two dots, a port, a number as a name, or a dot at its end', () => {
    for (const url of [
      `https://${'a'.repeat(63)}.example./`,
      'https://x.example:8080/',
      'https://1.example/',
      'http://[::1]:80/',
    ])
      expect(urlProblem(url)).toBeNull();
    expect(withScheme(`${'a'.repeat(64)}.example`, 'https')).toBeNull();
    expect(withScheme('x.example:0', 'https')).toBeNull();
  });

  it.each([
    ['https://256/', '256 is 0.0.1.0'],
    ['https://0x7f.1/', '0x7f.1 is 127.0.0.1'],
    ['https://ex%61mple.com/', 'ex%61mple.com is example.com'],
    ['https://intranet/', 'https://intranet/'],
  ])('is named by the plan if its host is odd: %s', async (url, example) => {
    const { manifest } = await stage([['url'], [url], ['https://good.example/']]);
    expect(manifest.firstBad).toEqual([]);
    expect(JSON.stringify(manifest.notes)).toContain(example);
  });

  it('is one with half of a character', () => {
    expect(urlProblem('http://x.example/\ud83d')).toContain('half of a character');
    expect(urlProblem('http://x.example/\u{1f600}')).toBeNull();
  });

  it('is never refused by the request if the plan accepts it', () => {
    const piece = fc.constantFrom(...'https://a.B:80@[::1]?#%2f \\\u200b\u00a0é', 'https://', 'http:///', 'x.example');
    fc.assert(
      fc.property(fc.string({ unit: piece, maxLength: 12 }), fc.boolean(), (text, hasScheme) => {
        const url = toUrl(hasScheme ? `https://${text}`.trim() : text.trim(), 'https');
        if (url !== null) transport.check(contentsEndpoint, { urls: [url], text: true }, {});
      }),
    );
  });
});

it('a request of rows takes a schema at its limit of 256 KB; a larger request is refused before a row is read', async () => {
  const withSchema = (length: number) => {
    const description = 'x'.repeat(length - JSON.stringify({ type: 'object', description: '' }).length);
    return stage([['url'], ['https://good.example/']], {
      options: { summary: { query: 'what?', schema: { type: 'object', description } } },
    });
  };
  expect((await withSchema(256 * 1024)).staged.rows).toBe(1);
  await expect(withSchema(300_000)).rejects.toThrow('The request of the rows has 294 KB as JSON; 272 KB is the limit.');
});

describe('the notes of a plan', () => {
  const notesOf = async (...cells: readonly string[]) =>
    (await stage([['url'], ...cells.map((cell) => [cell])])).manifest.notes ?? [];

  it('say how many spellings are one page, which is one unit, and rows keep their texts', async () => {
    const cells = ['https://A.example', 'https://a.example/', 'https://a.example/', 'https://a.example:443/#team'];
    const { staged, manifest } = await stage([['url'], ...cells.map((cell) => [cell]), ['https://b.example/']]);
    expect(manifest).toMatchObject({
      distinctUnits: 2,
      notes: ['4 spellings of URLs name 2 pages; each page is bought once.'],
    });
    const rows = await readSlice(sliceFile(staged.stageDir, 0));
    expect(rows.map(({ u, d }) => [u, d ?? false])).toEqual([
      ...cells.map((cell, index) => [cell, index > 0]),
      ['https://b.example/', false],
    ]);
    expect(new Set(rows.map(({ k }) => k)).size).toBe(2);
    expect(await notesOf('https://A.example', 'https://a.example/#x')).toEqual([
      '2 spellings of URLs name 1 page; each page is bought once.',
    ]);
    expect(await notesOf('https://a.example', 'https://a.example', 'https://a.example/b')).toEqual([]);
  });

  it.each([
    ['https://zw.example.com/\u200b', '1 URL with invisible characters, which are sent', 'U+200B in'],
    ['https://z\u00adw.example.com/', '1 URL with invisible characters, which are sent', 'U+00AD in'],
    ['https://zw.example.com/\u202ex', '1 URL with invisible characters, which are sent', 'U+202E in'],
    ['  https://a.example/ ', '1 URL with surrounding white space, which is not sent', '"  https://a.example/ "'],
    ['https://münchen.de/', '1 URL with a host beyond ASCII, which is sent', 'münchen.de is xn--mnchen-3ya.de'],
    ['https://a.example/100%', '1 URL with a % that encodes no character, which is sent', '/100%"'],
    ['https://a.example\\b', '1 URL with a backslash, which is sent', 'a.example'],
  ])('name what is changed or sent oddly: %j', async (url, what, example) => {
    const [note, ...others] = await notesOf('https://good.example/', url);
    expect(note).toContain(`${what}; the first is in line 3, column 1 ("url"): `);
    expect(note).toContain(example);
    expect(note).not.toMatch(/\p{Cf}/u);
    expect(others).toEqual([]);
    expect(await notesOf('https://good.example/a%20b?c=é#d', 'https://xn--mnchen-3ya.de/')).toEqual([]);
  });
});

describe('the URL column', () => {
  const url = (row: number) => `https://firma-${row}.de`;
  const domain = (row: number) => `firma-${row}.de`;
  const name = (row: number) => `Firma ${row} GmbH`;
  const column = async (columns: Parameters<typeof table>[0], rows = 100) => {
    const { staged, manifest } = await stage(table(columns, rows));
    return [staged.unitColumn, manifest.urlCells?.by, manifest.urlCells?.urls, manifest.urlCells?.filled];
  };

  it.each(['Website', 'domain', 'Homepage URL', 'company_url', 'Firmenauftritt', 'Spalte 7'])(
    'is found under the header %s',
    async (header) => {
      const by = header === 'Firmenauftritt' || header === 'Spalte 7' ? 'contents' : 'name';
      expect(await column({ name, [header]: url })).toEqual([header, by, 100, 100]);
      expect(await column({ name, [header]: domain })).toEqual([header, by, 0, 100]);
    },
  );

  it('is the one with many URLs if another one only has the name', async () => {
    expect(await column({ url: (row) => (row < 10 ? url(row) : ''), site: url })).toEqual(['site', 'name', 100, 100]);
    expect(await column({ url: (row) => (row < 10 ? url(row) : 'n/a'), x: url })).toEqual(['x', 'contents', 100, 100]);
    expect(await column({ source: (row) => `Import ${row}`, x: url })).toEqual(['x', 'contents', 100, 100]);
  });

  it('is the one with the name if others hold as many URLs', async () => {
    expect(await column({ 'LinkedIn URL': url, Website: url, logo: url })).toEqual(['Website', 'name', 100, 100]);
    expect(await column({ domain: domain, Website: url })).toEqual(['Website', 'name', 100, 100]);
    expect(await column({ user: (row) => `ann.smith${row}`, x: url })).toEqual(['x', 'contents', 100, 100]);
    expect(await column({ email: (row) => `info@firma-${row}.de`, x: domain })).toEqual(['x', 'contents', 0, 100]);
  });

  it('must be given if several columns are possible, and if none holds URLs', async () => {
    await expect(column({ name, a: url, b: url })).rejects.toThrow(
      '"a", "b". Name one (--url-column, or urlField of enrichRows)',
    );
    await expect(column({ Website: url, Link: url })).rejects.toThrow('"Website", "Link". Name one');
    await expect(column({ name, id: String })).rejects.toThrow('No column contains URLs');
  });

  it('is chosen by the first thousand rows, so that a file of any length is read once', async () => {
    expect(await column({ url: name, x: (row) => (row < 1000 ? url(row) : '') }, 3000)).toEqual([
      'x',
      'contents',
      1000,
      1000,
    ]);
  });
});
