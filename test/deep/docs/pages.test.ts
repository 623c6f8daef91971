import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it, onTestFinished } from 'vitest';
import { blocksOf, pages } from '../../support/docs/blocks.js';
import { runExample } from '../../support/run-example.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

function folder(parent: string): string {
  const made = mkdtempSync(join(parent, 'searchflow-page-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Runs a script as a reader does, in a folder of its own with an embedded Temporal server. */
async function runAsReader(code: string) {
  const cwd = folder(tmpdir());
  const script = join(cwd, 'page.sh');
  writeFileSync(script, `set -eu\nsearchflow() { $SEARCHFLOW "$@"; }\n${code}`);
  return runExample(script, { TEMPORAL_ADDRESS: '' }, cwd);
}

const withCommands = pages.filter((page) =>
  blocksOf(page).some(({ language, notRun }) => language === 'sh' && !notRun),
);

it.each(withCommands)('the commands of %s work in an empty folder', async (page) => {
  const commands = blocksOf(page).filter(({ language, notRun }) => language === 'sh' && notRun === null);
  const { code, err } = await runAsReader(commands.map((block) => block.code).join('\n'));
  expect([code, err]).toEqual([0, expect.any(String)]);
});

it('the SQL of the pages names tables and columns that exist', async () => {
  const { cwd } = await runAsReader('printf "url\\nhttps://a.example\\n" > rows.csv\nsearchflow enrich rows.csv\n');
  const database = await DuckDBInstance.create(join(cwd, 'out', 'rows.duckdb'), { access_mode: 'READ_ONLY' });
  const connection = await database.connect();
  const queries = pages.flatMap((page) => blocksOf(page).filter(({ language }) => language === 'sql'));
  expect(queries.length).toBeGreaterThan(1);
  for (const { code } of queries) await connection.run(`EXPLAIN ${code}`);
  connection.closeSync();
  database.closeSync();
});

it('the TypeScript of the pages has the types of the package', () => {
  // The package is found from within the clone by its own name.
  mkdirSync(join(root, '.cache'), { recursive: true });
  const cwd = folder(join(root, '.cache'));
  const prelude =
    "import type { NativeConnection } from '@temporalio/worker';\ndeclare const connection: NativeConnection;\n";
  const blocks = pages.flatMap((page) => blocksOf(page).filter(({ language }) => language === 'ts'));
  expect(blocks.length).toBeGreaterThan(3);
  for (const [index, { code }] of blocks.entries())
    writeFileSync(join(cwd, `block-${index}.ts`), (code.includes('NativeConnection') ? '' : prelude) + code);
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
