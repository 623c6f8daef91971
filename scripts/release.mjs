// node scripts/release.mjs VERSION: checks that the tree is ready to be published as VERSION, and shows what npm would publish. It
// publishes nothing: the owner runs `npm publish` and pushes the tag.
import { execFileSync } from 'node:child_process';
import { inRoot, root, textOf } from './root.mjs';

const version = process.argv[2] ?? '';
const run = (file, ...args) => execFileSync(file, args, { cwd: root, encoding: 'utf8' });
const problems = [];
const check = (holds, problem) => holds || problems.push(problem);

const { version: packaged } = JSON.parse(textOf(inRoot('package.json')));
const section = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d{2}-\\d{2}$`, 'm');
check(/^\d+\.\d+\.\d+$/.test(version), `"${version}" is not a version such as 0.2.0.`);
check(packaged === version, `package.json has version ${packaged}.`);
const changes = textOf(inRoot('CHANGELOG.md'));
check(/^## \[Unreleased\]\s+## /m.test(changes), 'CHANGELOG.md has changes under "## [Unreleased]".');
check(section.test(changes), `CHANGELOG.md has no section "## [${version}] - <date>".`);
check(run('git', 'status', '--porcelain') === '', 'The tree has changes that are not committed.');
check(run('git', 'tag', '--list', `v${version}`) === '', `The tag v${version} exists already.`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(2);
}
const show = (file, ...args) => execFileSync(file, args, { cwd: root, stdio: 'inherit' });
show(process.execPath, inRoot('scripts', 'set-up.mjs'));
for (const name of ['check', 'licences']) show('npm', 'run', '-s', name);
show('npm', 'publish', '--dry-run');
console.log(`\nReady:\n  bash .ci/run\n  npm publish\n  git tag v${version} && git push origin v${version}`);
