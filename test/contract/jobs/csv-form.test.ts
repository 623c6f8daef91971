import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { Folder } from '../../support/jobs/folder.js';
import { Job } from '../../support/jobs/host.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const file = settingOfFile();

/** Runs a job on this input; returns its enriched CSV. */
async function enriched(input: string | Buffer, changes: Partial<EnrichCsvInput> = {}): Promise<Buffer> {
  const folder = Folder.ofTest();
  writeFileSync(folder.input, input);
  const job = await Job.start(file.setting.temporal, file.setting.config.taskQueue, folder, changes);
  expect(await job.result()).toMatchObject({ phase: 'done', csv: folder.csv });
  return readFileSync(folder.csv);
}
const rows = (delimiter: string) =>
  ['id,url', '1,https://a.example/', '2,https://b.example/', ''].join('\n').replaceAll(',', delimiter);
const mark = '\ufeff';

it.each([
  ['semicolons and a byte order mark', `${mark}${rows(';')}`, {}, ';', true],
  ['tabs in UTF-16', Buffer.from(`${mark}${rows('\t')}`, 'utf16le'), {}, '\t', true],
  ['commas', rows(','), {}, ',', false],
  ['a first line that names the delimiter', `sep=|\n${rows('|')}`, {}, '|', false],
  ['a delimiter that cannot be written', rows('§'), { delimiter: '§' }, ',', false],
  ['another form of the CSV', `${mark}${rows(';')}`, { csvDelimiter: '\t', csvBom: false }, '\t', false],
  ['a byte order mark of the CSV alone', rows(','), { csvBom: true }, ',', true],
] as const)('with %s, the CSV has the expected delimiter and mark', async (_, input, changes, delimiter, bom) => {
  const csv = await enriched(input, changes);
  expect(csv.subarray(0, 3).toString() === mark).toBe(bom);
  const [header, ...others] = parse(csv, { delimiter, bom: true }) as string[][];
  expect(header?.slice(0, 3)).toEqual(['id', 'url', 'status']);
  expect(others.map((row) => row.slice(0, 3))).toEqual([
    ['1', 'https://a.example/', 'success'],
    ['2', 'https://b.example/', 'success'],
  ]);
});
