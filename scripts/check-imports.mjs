// node scripts/check-imports.mjs: checks the rules of imports (`.dependency-cruiser.mjs`), on `src` for types and on `dist` for
// values. Prints each broken rule and ends with 1 if there is one.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cruise } from 'dependency-cruiser';
import { parseSync, Visitor } from 'oxc-parser';
import { entryFiles, folders, options, ruleSet } from '../.dependency-cruiser.mjs';
import { inRoot, root } from './root.mjs';

/** Broken rules of one tree as `rule | from -> to`. `kind`: `all` imports, or `values` alone. */
export async function brokenRules(baseDir, trees, kind) {
  const { output } = await cruise([...trees], {
    ...{ ...options, baseDir, validate: true },
    ruleSet: ruleSet(trees[0], kind),
  });
  const { modules, summary } = output;
  const { violations, totalCruised } = summary;
  if (totalCruised <= 5) throw new Error(`only ${totalCruised} files in ${trees.join(', ')}: is it built?`);
  const found = violations.map(
    ({ rule, from, to }) => `${rule.name} | ${from} -> ${to.replace(/^.*node_modules/, 'node_modules')}`,
  );
  if (kind !== 'all') return found;
  return [...found, ...trees.flatMap((tree) => inlineTypes(baseDir, tree)), ...circularFolders(modules)];
}

/**
 * Folders that import each other, at every depth: a folder includes the folders in it. dependency-cruiser compares single folders only, and
 * would miss `a/x` -> `b` -> `a/y`.
 */
function circularFolders(modules) {
  const found = new Set();
  for (const depth of [2, 3, 4]) {
    const imports = new Map();
    for (const { source, dependencies } of modules) {
      for (const { resolved } of dependencies) {
        const [from, to] = [source, resolved].map((path) => dirname(path).split('/').slice(0, depth).join('/'));
        const isNested = `${from}/`.startsWith(`${to}/`) || `${to}/`.startsWith(`${from}/`);
        if (isNested || !to.startsWith('src/')) continue;
        imports.set(from, (imports.get(from) ?? new Set()).add(to));
      }
    }
    const reaches = (folder, seen = new Set()) => {
      for (const next of imports.get(folder) ?? []) if (!seen.has(next)) reaches(next, seen.add(next));
      return seen;
    };
    const reached = new Map([...imports.keys()].map((folder) => [folder, reaches(folder)]));
    for (const [from, direct] of imports)
      for (const to of direct) if (reached.get(to)?.has(from)) found.add(`circular folders | ${from} -> ${to}`);
  }
  return [...found];
}

/** Types written as `import('./x.js').T`. dependency-cruiser does not see them, so they would pass every rule: they are refused. */
function inlineTypes(baseDir, tree) {
  const files = readdirSync(join(baseDir, tree), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const path = join(tree, file);
      const source = readFileSync(join(baseDir, path), 'utf8');
      const found = [];
      const note = (node) => found.push(`types: import them at the top | ${path} -> ${node.source.value}`);
      if (source.includes('import(')) new Visitor({ TSImportType: note }).visit(parseSync(path, source).program);
      return found;
    });
}

/** Entries of `src` without a rule. */
function withoutRule() {
  return readdirSync(inRoot('src'), { withFileTypes: true })
    .filter((entry) =>
      entry.isDirectory() ? !folders.includes(entry.name) : !entryFiles.includes(entry.name.replace('.ts', '')),
    )
    .map(({ name }) => `src/${name} has no rule in .dependency-cruiser.mjs`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const broken = [
    ...withoutRule(),
    ...(await brokenRules(root, ['src', 'examples'], 'all')),
    ...(await brokenRules(root, ['dist'], 'values')),
  ];
  for (const line of broken) process.stderr.write(`${line}\n`);
  process.exitCode = broken.length > 0 ? 1 : 0;
}
