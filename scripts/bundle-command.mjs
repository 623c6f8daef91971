// node scripts/bundle-command.mjs <folder with the compiled modules> <folder to write>
// Bundles the modules of the command into a few files, because Node needs longer to find 300 files than to run them. Dependencies are
// not bundled.
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const [from, to] = process.argv.slice(2);

/**
 * Packages that `require` loads faster than `import`. In a CommonJS package, `import` first reads all files to find the names that they
 * export, which takes 40 ms for Temporal's SDK and 60 ms for DuckDB.
 */
const required = /^(@temporalio\/|(@duckdb\/node-api|@opentelemetry\/api|commander|liquidjs|undici)$)/;
const mark = '\0require:';
const byRequire = {
  name: 'by-require',
  resolveId: (id) => (required.test(id) ? mark + id : null),
  load: (id) =>
    id.startsWith(mark) ? { code: `module.exports = require('${id.slice(mark.length)}');`, moduleType: 'js' } : null,
};

const bundle = await rolldown({
  input: {
    searchflow: join(from, 'cli', 'main.js'),
    'sandbox-thread': join(from, 'cli', 'shared', 'sandbox-thread.js'),
  },
  platform: 'node',
  plugins: [byRequire],
  external: (id, importer) => !/^[./]/.test(id) && (!required.test(id) || importer?.startsWith(mark)),
  logLevel: 'warn',
});
await bundle.write({ dir: to, format: 'esm', cleanDir: true, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
