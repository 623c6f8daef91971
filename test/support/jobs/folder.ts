import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { afterAll, onTestFinished } from 'vitest';
import { Secret } from '../../../dist/core/connections/secret.js';
import { openWarehouse } from '../../../dist/warehouse/index.js';
import type { RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { placeEmptyWarehouse } from '../warehouse/empty-warehouse.js';
import { readDuckDb } from '../warehouse/read-duckdb.js';

/** A row of the input files in these tests. */
export type InputRow = readonly [id: string, name: string, url: string];

/** Rows that each have a URL of their own; `from` is the number of the first. */
export function plainRows(count: number, from = 0): InputRow[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    return [String(number), `Company ${number}`, `https://site-${number}.example/about`];
  });
}

/** A row of a job in the warehouse. */
export interface WarehouseRow {
  readonly row_number: number;
  readonly input: string[];
  readonly url: string | null;
  readonly status: string;
  readonly error_tag: string | null;
  readonly cost_micros: number;
  readonly text: string | null;
  readonly vanished: boolean;
}

/** A folder for one job, with input, warehouse, CSV and state folder. `remove` deletes it. */
export class Folder {
  readonly dir = mkdtempSync(join(tmpdir(), 'searchflow-job-'));
  readonly input = join(this.dir, 'rows.csv');
  readonly into = placeEmptyWarehouse(join(this.dir, 'out.duckdb'));
  readonly csv = join(this.dir, 'out.csv');
  readonly stateDir = join(this.dir, 'state');

  /** A folder that is deleted after the current test. */
  static ofTest(): Folder {
    const folder = new Folder();
    onTestFinished(() => folder.remove());
    return folder;
  }

  /** A folder that is deleted after the tests of the file. */
  static ofFile(): Folder {
    const folder = new Folder();
    afterAll(() => folder.remove());
    return folder;
  }

  write(rows: readonly InputRow[]): void {
    writeFileSync(this.input, stringify([['id', 'name', 'url'], ...rows]));
  }

  /** A configuration of a worker for the service at `baseUrl`. `changes` replaces some of its fields. */
  config(baseUrl: string, changes: Partial<RuntimeConfig> = {}): RuntimeConfig {
    return {
      service: 'sandbox',
      origin: 'sandbox',
      baseUrl,
      apiKey: new Secret('key-of-the-tests'),
      stateDir: this.stateDir,
      // The allowlist has the parent of all such folders, because one worker may run the jobs of several.
      paths: [tmpdir()],
      userStateDir: join(this.dir, 'user'),
      rate: { qps: 1000 },
      rateIsShare: true,
      concurrency: 4,
      ...{ keepLandingMs: 86_400_000, keepCallsMs: 86_400_000 },
      temporalAddress: null,
      namespace: 'default',
      taskQueue: this.dir,
      say: () => undefined,
      ...changes,
    };
  }

  /** Records of the enriched CSV; the names of the fields are the columns. */
  enriched(): Record<string, string>[] {
    return parse(readFileSync(this.csv), { columns: true });
  }

  /** The input cells and the status of each record of the enriched CSV. */
  outcomes(): (readonly [InputRow, string])[] {
    return this.enriched().map(({ id = '', name = '', url = '', status = '' }) => [[id, name, url], status]);
  }

  /** The result of an SQL statement on the warehouse; no other process may have the file open. */
  async query<Row>(sql: string): Promise<Row[]> {
    // This process may have the file open. A second DuckDB instance would read a half-written file and release its lock, so the first
    // instance is closed.
    await openWarehouse(this.into).close();
    return readDuckDb(this.into, sql);
  }

  warehouseRows(): Promise<WarehouseRow[]> {
    return this.query(
      `SELECT row_number::INTEGER AS row_number, input, url, status, error_tag, cost_micros::INTEGER AS cost_micros, text,
         vanished_at IS NOT NULL AS vanished
       FROM enriched_rows ORDER BY vanished, row_number`,
    );
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
