import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import type { UnitRecord } from '#searchflow/core/purchase/journal.js';
import { unitKeys } from '#searchflow/core/purchase/unit-key.js';
import type { Freshness } from '#searchflow/core/row-job-schemas.js';
import type { JobRecord, RowRequest, RowWarehouse } from '#searchflow/core/rows/row-warehouse.js';
import type { Json } from '#searchflow/core/text/json.js';
import { csvReader, type RowReader, readSlice, sliceFile, stageRows, type UnitSource } from '#searchflow/rows/index.js';

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

export interface StagedTest {
  readonly record: JobRecord;
  readonly files: readonly string[];
}

let stages = 0;

/** Stages a text in CSV form as a job, as the worker does. */
export async function stageText(
  dir: string,
  csv: string,
  settings: {
    job?: string;
    name?: string;
    options?: Json;
    rowsPerSlice?: number;
    key?: readonly string[];
    urlColumn?: string;
    operation?: string;
    units?: UnitSource;
    request?: RowRequest;
    /** Reads the rows in place of the text. */
    reader?: RowReader;
  } = {},
): Promise<StagedTest> {
  const options = settings.options ?? { text: true };
  const operation = settings.operation ?? 'contents';
  const size = settings.rowsPerSlice ?? 3;
  const outDir = join(dir, `stage-${++stages}`);
  const manifest = await stageRows({
    reader: settings.reader ?? csvReader({ source: Readable.from([Buffer.from(csv)]), delimiter: null }),
    units: settings.units ?? { kind: 'url', column: settings.urlColumn ?? 'url' },
    key: settings.key,
    rowsPerSlice: { large: size, small: size },
    keyOf: unitKeys(sha256, 'sandbox', operation, options),
    sha256,
    outDir,
  });
  return {
    record: {
      job: settings.job ?? 'brands-1',
      name: settings.name ?? 'brands',
      origin: 'sandbox',
      operation,
      input: '/data/brands.csv',
      columns: manifest.columns,
      ...(manifest.types ? { types: manifest.types } : {}),
      generation: sha256(manifest.contentHash + JSON.stringify([options, settings.key])).slice(0, 12),
      options,
      ...(settings.request ? { request: settings.request } : {}),
      rows: manifest.rows,
      slices: manifest.slices,
    },
    files: Array.from({ length: manifest.slices }, (_, slice) => sliceFile(outDir, slice)),
  };
}

/** A stand-in for the service: it answers URLs and records the calls. */
export class Service {
  readonly asked: string[] = [];
  now = Date.parse('2026-11-20T10:00:00.000Z');
  readonly #answer: (url: string) => Partial<UnitRecord>;

  constructor(answer: (url: string) => Partial<UnitRecord> = () => ({})) {
    this.#answer = answer;
  }

  buy(key: string, url: string): UnitRecord {
    this.asked.push(url);
    return {
      key,
      unit: url,
      operation: 'contents',
      request_id: `request-${this.asked.length}`,
      fetched_at: new Date(this.now).toISOString(),
      cost_micros: 1000,
      status: 'success',
      error_tag: null,
      http_status: 200,
      source: 'crawled',
      result: { id: url, url, title: `Title of ${url}`, text: `Text of ${url}` },
      ...this.#answer(url),
    };
  }
}

/** Buys the pending units of one slice and writes their answers to a unit file; returns its path. `raw` may change the text of the file. */
export async function buySlice(
  dir: string,
  warehouse: RowWarehouse,
  staged: StagedTest,
  slice: number,
  service: Service,
  freshness?: Freshness,
  raw: (json: string) => string = (json) => json,
): Promise<string[]> {
  const rowsFile = staged.files[slice] as string;
  const keys = await warehouse.pendingKeys(staged.record.job, rowsFile, freshness);
  if (keys.length === 0) return [];
  const urls = new Map((await readSlice(rowsFile)).map((row) => [row.k, row.u]));
  return [
    unitFile(
      dir,
      keys.map((key) => service.buy(key, urls.get(key) as string)),
      raw,
    ),
  ];
}

/** Writes a unit file with these records; returns its path. */
export function unitFile(
  dir: string,
  records: readonly UnitRecord[],
  raw: (json: string) => string = (json) => json,
): string {
  mkdirSync(dir, { recursive: true });
  const file = join(dir, `units-${++stages}.jsonl`);
  writeFileSync(file, records.map((record) => raw(`${JSON.stringify(record)}\n`)).join(''));
  return file;
}

export function batchOf(staged: StagedTest, slice: number, unitFiles: readonly string[], attempt = 'attempt-1') {
  const { job, generation, request } = staged.record;
  const sharedAnswers = (request?.rowsPerRun ?? 1) > 1;
  return { job, generation, slice, attempt, rowsFile: staged.files[slice] as string, unitFiles, sharedAnswers };
}

/** Runs a job to its end. */
export async function runJob(
  dir: string,
  warehouse: RowWarehouse,
  staged: StagedTest,
  service: Service,
  freshness?: Freshness,
  raw?: (json: string) => string,
): Promise<void> {
  for (const slice of await warehouse.openJob(staged.record, staged.files, freshness)) {
    const unitFiles = await buySlice(dir, warehouse, staged, slice, service, freshness, raw);
    await warehouse.load(batchOf(staged, slice, unitFiles), freshness);
  }
}

/** The records of the exported CSV, read by another parser than ours. */
export async function exported(
  dir: string,
  warehouse: RowWarehouse,
  job = 'brands-1',
): Promise<Record<string, string>[]> {
  const file = join(dir, `out-${++stages}.csv`);
  await warehouse.exportCsv(job, file);
  const { readFileSync } = await import('node:fs');
  return parse(readFileSync(file), { columns: true });
}

/** The rows of exported Parquet files, in the order of the files. */
export async function parquetRows(dir: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(
    `SELECT * EXCLUDE (filename, file_row_number) FROM read_parquet('${dir}/*.parquet', filename = true, file_row_number = true)
     ORDER BY filename, file_row_number`,
  );
  connection.closeSync();
  instance.closeSync();
  return reader.getRowObjectsJson();
}
