// node scripts/licences.mjs: prints the packages that a program with searchflow gets, with version and licence, from the bill of
// materials of npm (`npm sbom`), which reads only the lock file. Ends with 1 and names each package whose licence is not on the list.
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { root, textOf } from './root.mjs';

/** Licences that ask for no more than a notice. */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);
/**
 * Packages that are allowed as they are. `caniuse-lite` is data, a table of browsers, for the bundler of Temporal's SDK. `unionfs` names no
 * licence, but its LICENSE is the Unlicense.
 */
const alsoAllowed = { 'caniuse-lite': 'CC-BY-4.0', unionfs: 'none' };

/** Whether an SPDX expression allows a use under the list: one part of an OR, or all parts of an AND. */
export function isAllowed(licence, name = '') {
  const inner = licence.replace(/^\((.*)\)$/, '$1');
  if (/ OR /.test(inner)) return inner.split(' OR ').some((part) => isAllowed(part, name));
  if (/ AND /.test(inner)) return inner.split(' AND ').every((part) => isAllowed(part, name));
  return allowed.has(inner) || alsoAllowed[name] === inner;
}

/** The packages that a program gets: the dependencies, the peers that are not optional, and all of theirs. */
export function packagesOf(
  { components, dependencies },
  { dependencies: own, peerDependencies, peerDependenciesMeta },
) {
  const needed = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const byRef = new Map(components.map((component) => [component['bom-ref'], component]));
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  const names = new Set([...Object.keys(own), ...peers]);
  const queue = [...byRef.values()].filter(({ name }) => names.has(name)).map((component) => component['bom-ref']);
  const found = new Set();
  for (let ref = queue.pop(); ref !== undefined; ref = queue.pop()) {
    if (found.has(ref)) continue;
    found.add(ref);
    queue.push(...(needed.get(ref) ?? []));
  }
  return [...found]
    .flatMap((ref) => byRef.get(ref) ?? [])
    .map(({ name, version, licenses = [] }) => ({
      ...{ name, version },
      licence:
        licenses.map(({ expression, license }) => expression ?? license?.id ?? license?.name).join(' AND ') || 'none',
    }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version < b.version ? -1 : 1));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const bom = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  const packages = packagesOf(JSON.parse(bom), JSON.parse(textOf(`${root}/package.json`)));
  for (const { name, version, licence } of packages) console.log(`${name}@${version}: ${licence}`);
  const refused = packages.filter(({ name, licence }) => !isAllowed(licence, name));
  for (const { name, version, licence } of refused)
    console.error(`${name}@${version} has the licence ${licence}, which is not on the list of scripts/licences.mjs.`);
  if (packages.length < 50) console.error(`Only ${packages.length} packages were found.`);
  process.exitCode = refused.length > 0 || packages.length < 50 ? 1 : 0;
}
