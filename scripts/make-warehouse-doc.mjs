// node scripts/make-warehouse-doc.mjs: writes docs/reference/tables.md from fresh warehouses of the built code.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWarehouses } from '../dist/warehouse/index.js';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { inRoot } from './root.mjs';
import { readCatalogs, warehouseDoc } from './warehouse-doc.mjs';

const dir = mkdtempSync(join(tmpdir(), 'searchflow-doc-'));
const server = await startPostgres();
try {
  const catalogs = await readCatalogs(createWarehouses, dir, await server.database());
  writeFileSync(inRoot('docs', 'reference', 'tables.md'), warehouseDoc(catalogs));
} finally {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
