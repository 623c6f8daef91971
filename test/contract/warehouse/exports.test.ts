import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { parquetRows, runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { runs } from '../../support/property-runs.js';

/** Texts of any UTF-16 code units, with NUL, controls and halves of surrogate pairs. */
const anyText = fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 12 });
const oddText = fc.oneof(
  anyText,
  fc.constantFrom('\0', '\\u0000', '\ud800', '\udc00\ud800', '=1', '\r\n', '"', '\t', ''),
);
const anyAnswer = fc.record(
  {
    title: fc.oneof(oddText, fc.constant(null), fc.integer()),
    author: oddText,
    publishedDate: oddText,
    text: fc.oneof(oddText, fc.constantFrom(null, 5, true)),
    highlights: fc.array(oddText, { maxLength: 2 }),
    summary: fc.oneof(oddText, fc.jsonValue({ maxDepth: 2 })),
    more: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
);
/** Texts that are valid in a UTF-8 file. */
const anyCell = fc.string({ unit: 'binary', maxLength: 8 });

describe('the exports of a job', () => {
  const dir = folderOfFile();
  const server = sharedPostgres();

  it('[45] are equal to the byte from DuckDB and from PostgreSQL, for any values', async () => {
    const COUNT = runs(300);
    const answers = fc.sample(anyAnswer, { numRuns: COUNT, seed: 45 });
    const cells = fc.sample(anyCell, { numRuns: COUNT, seed: 45 });
    const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
    const rows = cells.map((cell, index) => `${quoted(cell)},https://a.com/${index}\n`);
    const options = { text: true, highlights: true, summary: true };
    const staged = await stageText(dir, `cell,url\n${rows.join('')}`, { options, rowsPerSlice: 100 });
    expect(staged.record.rows).toBe(COUNT);
    const warehouses = createWarehouses();
    const written = async (name: string, warehouse: RowWarehouse) => {
      const service = new Service((url) => ({ result: answers[Number(url.split('/')[3])] ?? null }) as never);
      await runJob(dir, warehouse, staged, service);
      await warehouse.exportCsv('brands-1', join(dir, `${name}.csv`));
      await warehouse.exportParquet('brands-1', join(dir, name));
      return { csv: readFileSync(join(dir, `${name}.csv`)), rows: await parquetRows(join(dir, name)) };
    };
    const duckDb = await written('duckdb', warehouses.open(join(dir, 'w.duckdb')).rows);
    const postgres = await written('postgres', warehouses.open(await server.database()).rows);
    await warehouses.close();
    expect(postgres.rows).toEqual(duckDb.rows);
    expect(postgres.csv.equals(duckDb.csv)).toBe(true);
    expect(duckDb.rows.map((row) => row.cell)).toEqual(cells);
  });
});
