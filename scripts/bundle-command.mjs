// node scripts/bundle-command.mjs <folder with the compiled modules> <folder to write>
// Bundles the modules of the command into a few files, because Node needs longer to find 300 files than to run them. The packages of
// `bundled` are included for the same reason, with their licences; all other dependencies stay outside.
import { copyFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { inRoot } from './root.mjs';

const [from, to] = process.argv.slice(2);

/** Packages of many files, which a command or the start of a job needs. */
const bundled = ['@duckdb/node-api', 'commander', 'undici', 'zod'];

/**
 * Packages that `require` loads faster than `import`. In a CommonJS package, `import` first reads all files to find the names that they
 * export, which takes 40 ms for Temporal's SDK.
 */
const required = /^(@temporalio\/|(@duckdb\/node-bindings|liquidjs)$)/;
const mark = '\0require:';
const byRequire = {
  name: 'by-require',
  resolveId: (id) => (required.test(id) ? mark + id : null),
  load: (id) =>
    id.startsWith(mark) ? { code: `module.exports = require('${id.slice(mark.length)}');`, moduleType: 'js' } : null,
};

/** Whether a module stays outside the bundle. */
function isOutside(id, importer) {
  if (/^[./]/.test(id) || bundled.some((name) => id === name || id.startsWith(`${name}/`))) return false;
  return !required.test(id) || importer?.startsWith(mark);
}

const bundle = await rolldown({
  input: {
    searchflow: join(from, 'cli', 'main.js'),
    'reader-process': join(from, 'sources', 'reader-process.js'),
    'sandbox-thread': join(from, 'cli', 'shared', 'sandbox-thread.js'),
  },
  platform: 'node',
  plugins: [byRequire],
  external: isOutside,
  logLevel: 'warn',
});
await bundle.write({ dir: to, format: 'esm', cleanDir: true, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
// A part of a package may have a licence of its own.
for (const name of bundled) {
  const files = readdirSync(inRoot('node_modules', name), { recursive: true });
  for (const file of files.filter((one) => basename(one) === 'LICENSE')) {
    const part = join(name, dirname(file)).replace('@', '').replace(/[\\/]/g, '-');
    copyFileSync(inRoot('node_modules', name, file), join(to, `LICENSE.${part}`));
  }
}
