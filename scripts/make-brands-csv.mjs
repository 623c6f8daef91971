// node scripts/make-brands-csv.mjs: writes examples/brands.csv, the name and source URL of every brand in simple-icons.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { stringify } from 'csv-stringify/sync';
import { inRoot } from './root.mjs';

const icons = createRequire(import.meta.url)('simple-icons/icons.json');
const rows = icons.map(({ title, source }) => ({ name: title, source }));
writeFileSync(inRoot('examples', 'brands.csv'), stringify(rows, { header: true, columns: ['name', 'source'] }));
process.stderr.write(`${rows.length} brands\n`);
