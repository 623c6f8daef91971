// npm run docs: builds the site of the documentation into docs/.vitepress/dist. `npm run docs -- dev` serves it while it is written.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { npmCommand } from './install.mjs';
import { inRoot } from './root.mjs';
import { brokenLinks } from './site-links.mjs';

const folder = inRoot('docs');
const [script = 'build', ...rest] = process.argv.slice(2);
const npm = npmCommand();
const bin = (name) => inRoot('docs', 'node_modules', '.bin', name);

function run(file, args, shell = false) {
  const { status, error } = spawnSync(file, args, { cwd: folder, stdio: 'inherit', shell });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(bin('vitepress')))
  run(npm.file, [...npm.args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], npm.shell);
// Pages of an earlier build would stay on the site.
rmSync(inRoot('docs', 'reference', 'api'), { recursive: true, force: true });
run(bin('typedoc'), []);
run(npm.file, [...npm.args, 'run', '-s', script, '--', ...rest], npm.shell);

if (script === 'build') {
  const broken = brokenLinks(inRoot('docs', '.vitepress', 'dist'));
  for (const link of broken) process.stderr.write(`Broken link: ${link}\n`);
  if (broken.length > 0) process.exitCode = 1;
}
