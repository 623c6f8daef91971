import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it, onTestFinished } from 'vitest';
import { type Block, blocksOf, documents } from '../../support/docs/blocks.js';
import { runExample } from '../../support/run-example.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = (language: string) => (block: Block) => block.language === language && block.notRun === null;

/** The folder of a reader who has done the page "First job", and a schema for answers. */
const reader = `set -eu
searchflow() { $SEARCHFLOW "$@"; }
printf 'name,website\\nAirbnb,https://www.airbnb.com\\nFigma,https://www.figma.com\\nStripe,https://stripe.com\\n' > companies.csv
ln -s "$EXAMPLES" examples
printf '{"type":"object","properties":{"employees":{"type":"integer"}}}' > schema.json
`;
const firstJob = 'searchflow enrich companies.csv --url-column website --quiet\n';

function folder(parent: string): string {
  const made = mkdtempSync(join(parent, 'searchflow-page-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Runs code as a reader does, in a folder of its own with an embedded Temporal server. */
async function runAsReader(code: string) {
  const cwd = folder(tmpdir());
  const script = join(cwd, 'page.sh');
  writeFileSync(script, reader + code);
  return runExample(
    script,
    { TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: 'default', EXAMPLES: join(root, 'examples') },
    cwd,
  );
}

/** Code of a page, each line where the page has it, so that the messages of compilers and programs have the lines of the page. */
function inPlace(blocks: readonly Block[]): string {
  const lines: string[] = [];
  for (const { line, code } of blocks)
    code.split('\n').forEach((text, index) => {
      lines[line - 1 + index] = text;
    });
  return Array.from(lines, (text) => text ?? '').join('\n');
}

it.each(documents.filter((page) => blocksOf(page).some(run('sh'))))('the commands of %s work', async (page) => {
  const blocks = blocksOf(page).filter(run('sh'));
  const done = page.startsWith('docs/tasks/') && !blocks.some(({ code }) => code.includes('cat > companies.csv'));
  const steps = blocks.map(({ line, code }) => `block=${line}\n${code}`).join('\n');
  const named = `trap '[ $? -eq 0 ] || echo "${page}, block of line $block" >&2' EXIT\n`;
  const { code, err } = await runAsReader(`block=0\n${named}${done ? firstJob : ''}${steps}`);
  expect(code, err.slice(-3000)).toBe(0);
});

it('the SQL of the pages names tables and columns that exist', async () => {
  const { cwd, err } = await runAsReader(
    `${firstJob}cp companies.csv brands.csv\nsearchflow enrich brands.csv --url-column website --into out/companies.duckdb\nsearchflow publish companies --to out/lake\n`,
  );
  const database = await DuckDBInstance.create(join(cwd, 'out', 'companies.duckdb'));
  const connection = await database.connect();
  const queries = documents.flatMap((page) => blocksOf(page).filter(run('sql')));
  expect(queries.length, err).toBeGreaterThan(5);
  await connection.run(`SET file_search_path = '${cwd}'`);
  const wrong: string[] = [];
  for (const { page, line, code } of queries)
    await connection
      .run(code.includes('SET VARIABLE') ? code.replaceAll("'out/lake/", `'${cwd}/out/lake/`) : `EXPLAIN ${code}`)
      .catch((error: Error) => wrong.push(`${page}:${line}: ${error.message}`));
  expect(wrong).toEqual([]);
  connection.closeSync();
  database.closeSync();
});

it('the TypeScript of the pages has the types of the package', () => {
  // The package is found from within the clone by its own name.
  mkdirSync(join(root, '.cache'), { recursive: true });
  const cwd = folder(join(root, '.cache'));
  const declared = {
    NativeConnection: "declare const connection: import('@temporalio/worker').NativeConnection;",
    openWarehouse:
      "declare const openWarehouse: (address: string) => Omit<import('searchflow/testing').WarehouseUnderTest, 'query' | 'nul'>;\n" +
      "declare const queryDuck2: (file: string, sql: string) => ReturnType<import('searchflow/testing').WarehouseUnderTest['query']>;",
  };
  const blocks = documents.flatMap((page) => blocksOf(page).filter(run('ts')));
  expect(blocks.length).toBeGreaterThan(4);
  for (const block of blocks) {
    const prelude = block.code.includes('openWarehouse(') ? declared.openWarehouse : '';
    const file = `${block.page.replace(/\W/g, '-')}-${block.line}.ts`;
    // The names that a page leaves to its reader stand after the last line of the block.
    writeFileSync(join(cwd, file), `${inPlace([block])}\n${prelude}\n`);
  }
  const options = {
    module: 'NodeNext',
    target: 'ES2023',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
  const { stdout, status } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', cwd], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, '']);
});

it.each([
  ['python', 'python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())']],
  ['js', process.execPath, ['--check', '--input-type=module', '-']],
  ['json', process.execPath, ['-e', "JSON.parse(require('fs').readFileSync(0, 'utf8'))"]],
] as const)('the %s of the pages has the syntax of its language', (language, program, args) => {
  const blocks = documents.flatMap((page) => blocksOf(page).filter((block) => block.language === language));
  expect(blocks.length).toBeGreaterThan(0);
  const wrong = blocks.flatMap((block) => {
    const { status, stderr } = spawnSync(program, args, { input: inPlace([block]), encoding: 'utf8' });
    return status === 0 ? [] : [`${block.page}:${block.line}: ${stderr}`];
  });
  expect(wrong).toEqual([]);
});
