import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { dbtSources } from '../../../scripts/dbt-sources.mjs';
import { rowTables, rowViews } from '../../../src/warehouse/rows/row-tables.js';

it('examples/dbt/models/sources.yml has the descriptions of the tables (else: node scripts/make-dbt-sources.mjs)', () => {
  const file = fileURLToPath(new URL('../../../examples/dbt/models/sources.yml', import.meta.url));
  const text = readFileSync(file, 'utf8');
  expect(text).toBe(dbtSources([...rowTables(false), ...rowViews(false)]));
  expect(text).toContain('loaded_at_field: ended_at');
});
