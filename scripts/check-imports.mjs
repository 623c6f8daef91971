// node scripts/check-imports.mjs: checks the rules of imports (`.dependency-cruiser.mjs`), on `src` for types and on `dist` for
// values, and the shapes of code in `src`. Prints each broken rule and ends with 1 if there is one.
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
  return [...found, ...trees.flatMap((tree) => shapes(baseDir, tree)), ...circularFolders(modules)];
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

/** The only module that compares operations of rows. */
const operationTable = 'src/core/rows/row-operation.ts';
/** Most fields of all sources that are left out if they are undefined: JSON does that, but a spread or an SDK may not. */
const MOST_LEFT_OUT = 20;

const inner = (node) => (node?.type === 'ParenthesizedExpression' ? inner(node.expression) : node);
const isOperation = (node) => /^operation$/i.test(node.name ?? node.property?.name ?? '');
const isConstant = (node) => node.type === 'Literal' || /^[A-Z][A-Z_]+$/.test(node.name ?? '');
const isEmpty = (node) => inner(node).type === 'ObjectExpression' && inner(node).properties.length === 0;
const isConditional = ({ type, argument }) => {
  const value = type === 'SpreadElement' ? inner(argument) : null;
  if (value?.type === 'LogicalExpression') return value.operator === '&&';
  return value?.type === 'ConditionalExpression' && (isEmpty(value.consequent) || isEmpty(value.alternate));
};

/** Shapes of code that no source may have; `leftOut` counts those that few may have. */
function shapes(baseDir, tree) {
  let leftOut = 0;
  const files = readdirSync(join(baseDir, tree), { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const path = join(tree, file);
      const broken = [];
      const compares = (...nodes) => path !== operationTable && nodes.some(isOperation);
      const params = ({ params: given }) => {
        const bin = given.find(
          ({ name, typeAnnotation: of }) => name === 'mistakes' && of?.typeAnnotation.type === 'TSArrayType',
        );
        if (bin) broken.push(`mistakes: return or throw them | ${path}`);
      };
      new Visitor({
        // dependency-cruiser does not see types written as `import('./x.js').T`, so they would pass every rule.
        TSImportType: ({ source }) => broken.push(`types: import them at the top | ${path} -> ${source.value}`),
        BinaryExpression: ({ operator, left, right }) =>
          /^[!=]==$/.test(operator) &&
          compares(left, right) &&
          [left, right].some(isConstant) &&
          broken.push(`operations: compare them in ${operationTable} | ${path}`),
        SwitchStatement: ({ discriminant }) =>
          compares(discriminant) && broken.push(`operations: make a table of them | ${path}`),
        ...{ FunctionDeclaration: params, FunctionExpression: params, ArrowFunctionExpression: params },
        ObjectExpression: ({ properties }) => {
          leftOut += properties.filter(isConditional).length;
        },
        CallExpression: ({ callee }) => {
          if (callee.name === 'withoutUndefined') leftOut++;
        },
      }).visit(parseSync(path, readFileSync(join(baseDir, path), 'utf8')).program);
      return broken;
    });
  if (leftOut <= MOST_LEFT_OUT) return found;
  return [
    ...found,
    `undefined: leave it to JSON | ${tree} has ${leftOut} conditional fields, ${MOST_LEFT_OUT} are allowed`,
  ];
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
