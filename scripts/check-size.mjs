// node scripts/check-size.mjs [--write]: prints the lines of each room of `src`, the import closure of each entry of the package, and the
// lines of tests, docs and scripts. Ends with 1 if a figure is above its budget in `size-budget.json`. `--write` sets the budgets to
// the present figures.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { root } from './root.mjs';

const budgetFile = 'scripts/size-budget.json';
const read = (path) => readFileSync(join(root, path), 'utf8');
const lines = (text) => text.split('\n').length - 1;

/** Files below a folder that end with one of these, as paths from the root. */
function filesIn(folder, endings) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)));
}

const linesOf = (files) => files.reduce((sum, file) => sum + lines(read(file)), 0);

/** Lines, files and folders of `src`, and the lines of each folder in it. */
function rooms() {
  const files = filesIn('src', ['.ts']);
  const names = [...new Set(files.map((file) => file.split('/')[1]))].sort();
  const room = (name) => linesOf(files.filter((file) => file.split('/')[1] === name));
  return {
    src: { lines: linesOf(files), files: files.length, folders: new Set(files.map((file) => dirname(file))).size },
    ...Object.fromEntries(names.map((name) => [`src/${name}`, { lines: room(name) }])),
  };
}

/** The source of an export of package.json or of a compiled file. */
function sourceOf(path) {
  const inDist = normalize(path)
    .replace(/^dist\//, '')
    .replace(/\.js$/, '.ts');
  if (inDist.startsWith('bin/')) return 'src/cli/main.ts';
  const suite = inDist.startsWith('testing/') ? inDist.replace(/^testing\//, 'test/suites/') : null;
  return suite ?? `src/${inDist}`;
}

/** The modules that a file imports: values, not types; static and dynamic. */
function importsOf(path) {
  const source = read(path);
  const { module, program } = parseSync(path, source);
  const found = [...module.staticImports, ...module.staticExports].flatMap(({ moduleRequest, entries }) => {
    if (moduleRequest) return entries.length > 0 && entries.every((entry) => entry.isType) ? [] : [moduleRequest.value];
    return entries.flatMap((entry) => (entry.moduleRequest && !entry.isType ? [entry.moduleRequest.value] : []));
  });
  if (source.includes('import('))
    new Visitor({ ImportExpression: ({ source: to }) => to.type === 'Literal' && found.push(to.value) }).visit(program);
  return found;
}

/** Lines that are loaded with a module, sooner or later, and the packages among them. `without`: modules that are not followed. */
function closureOf(entry, { imports }, without = []) {
  const [seen, packages] = [new Set(without), new Set()];
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const name of importsOf(path)) {
      if (name.startsWith('node:')) continue;
      const inside = Object.entries(imports).find(([from]) => name.startsWith(from.slice(0, -1)));
      if (inside) visit(sourceOf(inside[1].replace('*', name.slice(inside[0].length - 1))));
      else if (name.startsWith('.')) {
        const file = normalize(join(dirname(path), name))
          .replace(/\.js$/, '.ts')
          .replace(/^dist\//, 'src/');
        if (existsSync(join(root, file))) visit(file);
      } else
        packages.add(
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        );
    }
  };
  visit(entry);
  return { lines: linesOf([...seen].filter((file) => !without.includes(file))), packages: packages.size };
}

/** What `searchflow/worker` loads only for a worker with a record. */
const ofRecord = ['src/worker/host/record.ts'];

/** All figures by name, in the order of the table. */
export function figures() {
  const manifest = JSON.parse(read('package.json'));
  const entries = Object.entries({ ...manifest.exports, command: manifest.bin.searchflow })
    .map(([name, target]) => [name.replace(/^\.(?=\/)?/, 'searchflow'), target.default ?? target])
    .filter(([, target]) => target.endsWith('.js'));
  const { packages } = JSON.parse(read('package-lock.json'));
  const production = Object.values(packages).filter(({ dev, optional, link }) => !dev && !optional && !link).length - 1;
  return {
    ...rooms(),
    ...Object.fromEntries(entries.map(([name, target]) => [name, closureOf(sourceOf(target), manifest)])),
    'worker without record': closureOf('src/worker/index.ts', manifest, ofRecord),
    test: { lines: linesOf(filesIn('test', ['.ts', '.mjs', '.mts'])) },
    docs: { lines: linesOf(filesIn('docs', ['.md']).filter((file) => !file.includes('node_modules'))) },
    scripts: { lines: linesOf(filesIn('scripts', ['.mjs', '.py'])) },
    'production packages': { packages: production },
  };
}

const spaced = (values) => JSON.stringify(values, null, 1).replaceAll(/\n\s*/g, ' ');
const count = (value) => value.toLocaleString('en-US');

/** A sentence for each figure above its budget, or without one. */
export function aboveBudget(present, budgets) {
  return Object.entries(present).flatMap(([name, values]) =>
    Object.entries(values).flatMap(([unit, value]) => {
      const budget = budgets[name]?.[unit];
      if (budget === undefined) return [`${name} has no budget of ${unit} in ${budgetFile}.`];
      return value > budget
        ? [`${name} has ${count(value)} ${unit}, its budget is ${count(budget)}: remove ${count(value - budget)}.`]
        : [];
    }),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const present = figures();
  const budgets = existsSync(join(root, budgetFile)) ? JSON.parse(read(budgetFile)) : {};
  const cell = (values, all, unit) =>
    unit in values ? `${count(values[unit])} of ${count(all?.[unit] ?? 0)}`.padStart(18) : ''.padStart(18);
  for (const [name, values] of Object.entries(present)) {
    const units = ['lines', 'files', 'folders', 'packages'].map((unit) => cell(values, budgets[name], unit));
    process.stdout.write(`${`${name.padEnd(24)}${units.join('')}`.trimEnd()}\n`);
  }
  if (process.argv.includes('--write')) {
    const entries = Object.entries(present).map(([name, values]) => `  ${JSON.stringify(name)}: ${spaced(values)}`);
    writeFileSync(join(root, budgetFile), `{\n${entries.join(',\n')}\n}\n`);
  } else {
    const problems = aboveBudget(present, budgets);
    for (const line of problems) process.stderr.write(`${line}\n`);
    process.exitCode = problems.length > 0 ? 1 : 0;
  }
}
