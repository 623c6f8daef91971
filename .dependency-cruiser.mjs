// What may import what. A folder is a runtime: from the path you know what its code may touch.
//
// Two passes over two trees, because an import of a type and one of a value are different things and only the compiler
// tells them apart: `src` holds every import, `dist` (compiled with verbatimModuleSyntax) exactly those of values.

/** Our folders, plus the entries that are files: whose values each may import beside its own, whose types besides, and what it never may. */
const table = {
  core: { values: [], never: ['node', 'temporal'] },
  files: { values: ['core'], never: ['zod', 'temporal', 'drivers'] },
  api: { values: ['core'], never: ['temporal'] },
  rows: { values: ['core', 'files'], never: ['temporal'] },
  postgres: { values: ['core'], never: ['temporal'] },
  store: { values: ['core', 'files', 'postgres'], never: ['temporal'] },
  warehouse: { values: ['core', 'files', 'postgres'], never: ['temporal'] },
  sources: { values: ['core', 'files', 'postgres', 'rows', 'warehouse'], never: ['temporal'] },
  activities: { values: ['core', 'api', 'rows'], types: ['store', 'warehouse'], never: ['drivers'] },
  workflows: { values: ['core'], types: ['activities', 'api'], never: ['node', 'zod'] },
  worker: {
    values: [
      'core',
      'files',
      'api',
      'rows',
      'postgres',
      'store',
      'warehouse',
      'sources',
      'activities',
      'workflows',
      'sandbox',
      'index',
    ],
  },
  cli: { values: ['core', 'files', 'worker', 'sandbox'], types: 'all' },
  sandbox: { values: ['core', 'api'], never: ['temporal'] },
  // The files that `init` writes. Their test uses the package.
  'init-files': { values: ['sandbox'] },
  index: { values: ['core', 'api'], types: 'all', never: ['temporal'] },
  webhook: { values: ['core', 'api'], never: ['temporal'] },
  limiter: { values: ['core', 'store/limiter/memory-limiter'], never: ['temporal'] },
};

/** The entries that are files of `src`. */
export const entryFiles = ['index', 'limiter', 'webhook'];
export const folders = Object.keys(table).filter((name) => !entryFiles.includes(name));

const outside = {
  node: { dependencyTypes: ['core'] },
  zod: { path: 'node_modules/zod/' },
  temporal: { path: 'node_modules/@temporalio/' },
  drivers: { path: 'node_modules/(@duckdb|pg|pg-copy-streams)/' },
};

const pathOf = (tree, name) =>
  /^(index|limiter|.*\/.*)$/.test(name) ? `^${tree}/${name}\\.(ts|js)$` : `^${tree}/${name}/`;

/**
 * The rules over one tree as a rule set of dependency-cruiser.
 * `kind`: `all` for every import in `src`, `values` for those left in `dist`.
 */
export function ruleSet(tree, kind) {
  const forbidden = Object.entries(table).flatMap(([name, { values, types = [], never = [] }]) => {
    const from = { path: pathOf(tree, name) };
    const allowed = kind === 'all' ? (types === 'all' ? folders : [...values, ...types]) : values;
    const ours = {
      name: `${name}: ${kind === 'all' ? 'imports' : 'values'} of ours`,
      severity: 'error',
      from,
      to: { path: `^${tree}/`, pathNot: [name, ...allowed].map((other) => pathOf(tree, other)) },
    };
    return [ours, ...never.map((what) => ({ name: `${name}: ${what}`, severity: 'error', from, to: outside[what] }))];
  });
  const lazy = {
    name: 'drivers: on first use',
    severity: 'error',
    comment: 'A heavy driver is loaded by import() where it is needed, never because a module was loaded.',
    // The contract suites are loaded only by tests.
    from: { path: `^${tree}/`, pathNot: `^${tree}/testing/` },
    to: { ...outside.drivers, dynamic: false },
  };
  const schemas = [
    {
      name: 'core: zod in its schemas only',
      severity: 'error',
      from: { path: `^${tree}/core/`, pathNot: '-schemas\\.(ts|js)$' },
      to: outside.zod,
    },
    {
      name: 'workflows: types of schemas, no values',
      severity: 'error',
      from: { path: `^${tree}/(workflows|core)/`, pathNot: '-schemas\\.(ts|js)$' },
      to: { path: `^${tree}/core/.*-schemas\\.(ts|js)$`, pathNot: '/input-schemas\\.(ts|js)$' },
    },
  ];
  const circular = { name: 'circular', severity: 'error', from: {}, to: { circular: true } };
  const examples = {
    name: 'examples: the package name only',
    severity: 'error',
    from: { path: '^examples/' },
    to: { path: '^(src|test|bench|scripts)/' },
  };
  return {
    forbidden: kind === 'values' ? [...forbidden, ...schemas, lazy, circular] : [...forbidden, examples, circular],
  };
}

/** How both trees are read. TypeScript 7 has no API for dependency-cruiser, swc reads the same imports. */
export const options = {
  parser: 'swc',
  doNotFollow: 'node_modules',
  // Declarations are types again, and the bundle holds every workflow module once more.
  exclude: '^dist/(.*\\.d\\.ts$|worker/workflow-bundle\\.js$)',
  enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
};

export default { ...ruleSet('src', 'all'), options };
