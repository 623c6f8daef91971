// node scripts/bundle-command.mjs <folder with the compiled modules> <folder to write>
// Bundles the modules of the command into a few files, because Node needs longer to find 300 files than to run them. Dependencies are
// not bundled.
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const [from, to] = process.argv.slice(2);
const bundle = await rolldown({
  input: {
    searchflow: join(from, 'cli', 'main.js'),
    'sandbox-thread': join(from, 'cli', 'shared', 'sandbox-thread.js'),
  },
  platform: 'node',
  external: (id) => !/^[./]/.test(id),
  logLevel: 'warn',
});
await bundle.write({ dir: to, format: 'esm', cleanDir: true, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
