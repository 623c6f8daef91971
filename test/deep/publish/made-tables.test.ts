import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { checkTables, pythonReader } from '../../support/publish/made-tables.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';

/** `SEARCHFLOW_MADE_TABLES`: number of tables; `SEARCHFLOW_MADE_FROM`: the first seed. */
const { SEARCHFLOW_MADE_TABLES: count = '2000', SEARCHFLOW_MADE_FROM: from = '1' } = process.env;
const BATCH = 25;
const packages = ['duckdb==1.5.5', 'pyarrow', 'psycopg[binary]'];
const dir = folderOfFile();
const python = join(dir, 'venv', 'bin', 'python');

beforeAll(() => {
  execFileSync('python3', ['-m', 'venv', join(dir, 'venv')]);
  execFileSync(python, ['-m', 'pip', 'install', '-q', ...packages]);
}, 600_000);

const batches = Array.from({ length: Math.ceil(Number(count) / BATCH) }, (_, index) => Number(from) + index * BATCH);

it.each(batches)(
  'tables with any names, types and values are the same in each target for Python, from seed %i',
  async (first) => {
    const folder = join(dir, `batch-${first}`);
    const script = fileURLToPath(new URL('../../support/publish/read_tables.py', import.meta.url));
    const isDuckDb = (first - 1) % (2 * BATCH) === 0;
    const postgres = await sharedPostgres().database();
    const warehouse = isDuckDb
      ? placeEmptyWarehouse(join(dir, `warehouse-${first}.duckdb`))
      : await sharedPostgres().database();
    const seeds = Array.from({ length: BATCH }, (_, index) => first + index);
    const places = { warehouse, postgres: `${postgres}?schema=public`, reader: pythonReader(python, script, folder) };
    expect(await checkTables(folder, seeds, places)).toEqual([]);
    rmSync(folder, { recursive: true });
  },
  600_000,
);
