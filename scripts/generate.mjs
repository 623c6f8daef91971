// npm run generate [-- --check]: builds, writes every file that is made from the code, and builds the sources among them. `--check` writes
// nothing and ends with 1 if a file differs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { benchmarksDoc, savedResults } from './benchmarks-doc.mjs';
import { build, upToDate } from './build.mjs';
import { commandsDoc } from './commands-doc.mjs';
import { dbtSources } from './dbt-sources.mjs';
import { drawings } from './drawings.mjs';
import { errorsDoc, withTags } from './errors-doc.mjs';
import { namesModule, schemasModule } from './input-schemas.mjs';
import { limitsDoc } from './limits-doc.mjs';
import { alone } from './lock.mjs';
import { operationsDoc } from './operations-doc.mjs';
import { inRoot, textOf } from './root.mjs';
import { readCatalogs, warehouseDoc } from './warehouse-doc.mjs';
import { workflowsDoc } from './workflows-doc.mjs';

const isCheck = process.argv.includes('--check');
const differing = [];
const say = (sentence) => process.stderr.write(`${sentence}\n`);
const built = (path) => import(`../dist/${path}.js`);
const read = (path) => readFileSync(inRoot(path), 'utf8');

function make(path, text) {
  if (textOf(inRoot(path)) === text) return;
  differing.push(path);
  if (!isCheck) writeFileSync(inRoot(path), text);
}

/** The page of the tables, from a DuckDB file and a PostgreSQL database that are new. */
async function tables() {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-doc-'));
  const server = await startPostgres();
  try {
    const made = await built('warehouse/index');
    return warehouseDoc(await readCatalogs(made.createWarehouses, dir, await server.database()));
  } finally {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

alone(say, () => upToDate() || build(say));
const { workflowInputs } = await built('core/workflow-input-schemas');
make('src/core/input-schemas.ts', schemasModule(workflowInputs));
const { runBounds } = await built('core/row-job-schemas');
const { operations } = await built('api/operations');
const facts = { workflowInputs };
for (const path of ['api/index', 'core/workflow-result-schemas', 'api/workflow-interface'])
  Object.assign(facts, await built(path));
for (const name of ['whole-request', 'landed-answers'])
  Object.assign(facts, await built(`activities/operations/${name}`));
const callOptions = facts.callOptions.shape;
make('src/core/generated-names.ts', namesModule({ runBounds: runBounds.shape, operations, callOptions }));
make('docs/reference/workflows.md', workflowsDoc(facts).page);
make('docs/reference/operations.md', operationsDoc(facts, read('src/api/operations.ts')));
const program = (await built('cli/program')).buildProgram('0', () => {});
make('docs/reference/commands.md', commandsDoc(program, await built('api/command-outputs')));
make('docs/reference/limits.md', await limitsDoc(built));
make('docs/errors.md', errorsDoc((await built('core/errors/registry')).errorGroups));
make(
  'docs/tasks/retry.md',
  withTags(read('docs/tasks/retry.md'), (await built('core/purchase/failure-tags')).failureTags),
);
make('docs/why/benchmarks.md', benchmarksDoc(savedResults()));
for (const [name, svg] of Object.entries(drawings)) make(`docs/concepts/${name}.svg`, svg);
const { rowTables, rowViews } = await built('warehouse/rows/row-tables');
const { duckDbDialect } = await built('warehouse/duckdb/dialect');
make('examples/dbt/models/sources.yml', dbtSources([...rowTables(false), ...rowViews(duckDbDialect)]));
make('docs/reference/tables.md', await tables());

for (const path of differing)
  say(isCheck ? `${path} differs from the code. To write it: npm run generate` : `Wrote ${path}.`);
if (!isCheck) alone(say, () => upToDate() || build(say));
process.exitCode = isCheck && differing.length > 0 ? 1 : 0;
