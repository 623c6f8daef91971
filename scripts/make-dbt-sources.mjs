// node scripts/make-dbt-sources.mjs: writes examples/dbt/models/sources.yml from the relations of the built code.
import { writeFileSync } from 'node:fs';
import { rowTables, rowViews } from '../dist/warehouse/rows/row-tables.js';
import { dbtSources } from './dbt-sources.mjs';
import { inRoot } from './root.mjs';

writeFileSync(
  inRoot('examples', 'dbt', 'models', 'sources.yml'),
  dbtSources([...rowTables(false), ...rowViews(false)]),
);
