import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { seconds } from './install.mjs';
import { alone } from './lock.mjs';
import { hashFiles, inRoot, root, textOf } from './root.mjs';

const src = inRoot('src');
/** The contract suites of warehouses, which are built into `dist/testing`. */
const suites = inRoot('test', 'suites');
const dist = inRoot('dist');
const stamp = join(dist, '.build');
const bundle = join(dist, 'worker', 'workflow-bundle.js');
const bundleStamp = join(dist, '.bundle');
/** The bundled command. */
const bin = join(dist, 'bin');

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();

const sourcesHash = () =>
  hashFiles([
    ...filesIn(src),
    ...filesIn(suites),
    ...['tsconfig.json', 'tsconfig.testing.json', 'package-lock.json'].map((file) => inRoot(file)),
    ...filesIn(inRoot('scripts')).filter((file) => file.endsWith('.mjs')),
  ]);

/** Whether `dist` was built from the current sources. */
export const upToDate = () => textOf(stamp) === sourcesHash();

/** Builds `dist` from `src` and the suites: compiled TypeScript, its other files, and the workflow bundle. Throws a sentence on failure. */
export function build(say) {
  const started = Date.now();
  const hash = sourcesHash();
  say('Building …');
  rmSync(stamp, { force: true });
  // The suites are compiled against the declarations in `dist`.
  const compiled = compile('tsconfig.json', dist) && compile('tsconfig.testing.json', join(dist, 'testing'));
  dropStale();
  if (!compiled) throw new Error('The build failed.');
  copyOthers();
  bundleWorkflows();
  bundleCommand();
  writeSchemas();
  writeFileSync(stamp, hash);
  say(`Built in ${seconds(started)} s.`);
}

/** Compiles a project into this folder; returns whether the compiler found no error. */
function compile(project, folder) {
  const buildInfo = join(folder, '.tsbuildinfo');
  if (!existsSync(join(folder, 'index.js'))) rmSync(buildInfo, { force: true });
  return run([
    inRoot('node_modules', 'typescript', 'bin', 'tsc'),
    ...['-p', inRoot(project), '--noEmitOnError', '--incremental', '--tsBuildInfoFile', buildInfo],
  ]);
}

/** Removes compiler output without a source: it would still be packed, and could still be imported. */
function dropStale() {
  for (const file of filesIn(dist)) {
    const source = /^(.*)\.(?:js|js\.map|d\.ts)$/.exec(file.slice(dist.length))?.[1];
    const from = source?.startsWith('/testing/') ? suites + source.slice('/testing'.length) : src + source;
    if (source !== undefined && file !== bundle && !file.startsWith(join(bin, '/')) && !existsSync(`${from}.ts`))
      rmSync(file);
  }
}

/** SQL migrations and other files that are shipped with the code. */
function copyOthers() {
  for (const file of filesIn(src).filter((name) => !name.endsWith('.ts'))) {
    const target = join(dist, file.slice(src.length));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(file, target);
  }
}

/**
 * The bundle is built in advance so that a worker starts without webpack; it is built again only when a module in it may have
 * changed.
 */
function bundleWorkflows() {
  const entry = join(dist, 'workflows', 'index.js');
  const inputs = ['workflows', 'core']
    .flatMap((folder) => filesIn(join(dist, folder)))
    .filter((file) => file.endsWith('.js'));
  const hash = hashFiles([...inputs, inRoot('package-lock.json'), inRoot('scripts', 'bundle-workflows.mjs')]);
  if (textOf(bundleStamp) === hash && existsSync(bundle)) return;
  if (!run([inRoot('scripts', 'bundle-workflows.mjs'), entry, bundle]))
    throw new Error('The workflows could not be bundled.');
  writeFileSync(bundleStamp, hash);
}

/** The modules of the command change with almost every build, so they are bundled at each. A link in the PATH may name the program. */
function bundleCommand() {
  if (!run([inRoot('scripts', 'bundle-command.mjs'), dist, bin])) throw new Error('The command could not be bundled.');
  chmodSync(join(bin, 'searchflow.js'), 0o755);
}

/** The JSON Schemas of the output of each command. */
function writeSchemas() {
  if (!run([inRoot('scripts', 'output-schemas.mjs'), dist])) throw new Error('The JSON Schemas could not be written.');
}

/** Runs a script of ours or of a dependency, its output on stderr; returns whether it succeeded. */
function run(args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] }).status === 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const say = (sentence) => process.stderr.write(`${sentence}\n`);
  try {
    alone(say, () => build(say));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
