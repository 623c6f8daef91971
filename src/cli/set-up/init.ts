import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import type { InitOutput } from '../../api/outputs/index.js';
import { shellWord } from '../../core/text/shell-word.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { writeNamed } from '../../files/write-durably.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../shared/command.js';
import { printable } from '../text.js';

/** `searchflow init [folder]`: writes a folder with settings, an example job and its test. Never replaces a file. */
export async function init(
  { cwd, terminal }: Context,
  folder: string | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<ExitCode> {
  if (folder?.trim() === '')
    throw new UsageError('invalid-argument', 'The name of the folder is empty. Leave it out for the working folder.');
  const path = resolve(cwd, folder ?? '.');
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError('invalid-argument', `${printable(path)} is not a folder. Name another one.`);
  const written: string[] = [];
  const kept: string[] = [];
  for (const { path: file, mode, text } of initFiles)
    (writeNew(join(path, file), text, mode) ? written : kept).push(file);
  const missing = kept.includes('.gitignore') ? notIgnored(join(path, '.gitignore')) : [];
  const next = nextCommands(path, cwd);
  if (json) {
    const output: InitOutput = { kind: 'init', folder: path, written, kept, notIgnored: missing, next };
    terminal.data(JSON.stringify(output));
    return exitCodes.ok;
  }
  const width = Math.max(...initFiles.map((one) => one.path.length));
  const lines = initFiles
    .filter((one) => written.includes(one.path))
    .map((one) => `  ${one.path.padEnd(width)}  ${one.what}`);
  if (lines.length > 0) terminal.say(`Written to ${printable(path)}:\n${lines.join('\n')}`);
  if (kept.length > 0) terminal.say(`Kept, because they exist: ${kept.join(', ')}.`);
  if (missing.length > 0)
    terminal.say(
      `Add these lines to .gitignore, so that no key or result is committed:\n${missing.map((line) => `  ${line}`).join('\n')}`,
    );
  terminal.say(`Next:\n${next.map((command) => `  ${command}`).join('\n')}`);
  return exitCodes.ok;
}

/** Writes a file that does not exist, with its folder; returns whether it was written. */
function writeNew(path: string, text: string, mode: number): boolean {
  makeFolder(dirname(path), 0o777);
  try {
    writeNamed(path, text, { flag: 'wx', mode });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The lines that a `.gitignore` lacks. */
function notIgnored(path: string): readonly string[] {
  let lines: readonly string[];
  try {
    lines = readFileSync(path, 'utf8')
      .split(/\r?\n/)
      .map((line) => line.trim().replace(/^\/|\/$/g, ''));
  } catch {
    // A folder or a link that leads nowhere has this name.
    lines = [];
  }
  return ignored.filter((line) => !lines.includes(line.replace(/\/$/, '')));
}

/** Commands to type next: to install the package, if the folder has none, and to print the plan of the job. */
function nextCommands(path: string, cwd: string): readonly string[] {
  const way = relative(cwd, path);
  return [
    ...(way === '' ? [] : [`cd ${shellWord(way.startsWith('..') ? path : way)}`]),
    ...(hasPackage(path) ? [] : [`npm install "$(npm pack --silent ${shellWord(inPackage())})"`]),
    './companies.sh --dry-run',
  ];
}

function hasPackage(path: string): boolean {
  try {
    createRequire(join(path, 'package.json')).resolve('searchflow/package.json');
    return true;
  } catch {
    return false;
  }
}

/** A file that `init` writes, with its purpose. */
interface InitFile {
  readonly path: string;
  readonly what: string;
  readonly mode: number;
  readonly text: string;
}

/** Lines of `.gitignore`: keys, state, results and packed packages. */
const ignored = ['.env', '.searchflow/', 'out/', 'node_modules/', '*.tgz'];

const settings = `# Settings of searchflow in this folder; docs/reference/configuration.md of searchflow lists all of them.
# A command reads this file if it is named:
#   export SEARCHFLOW_SETTINGS=.env        once in a terminal; companies.sh does so itself
#   npx searchflow --settings .env jobs    for one command
# Variables of the environment win. Do not commit this file.

# Key of the service, from https://dashboard.exa.ai/api-keys. Without a key, commands use the sandbox: made-up pages, no cost.
#SEARCHFLOW_API_KEY=

# Cap of each run of a job, in dollars.
SEARCHFLOW_MAX_COST_PER_JOB=5

# Results in PostgreSQL. Without it: out/companies.duckdb.
#SEARCHFLOW_WAREHOUSE_URL=postgres://user:password@db.internal/dw?sslmode=verify-full

# Answers, rate limit and budget in PostgreSQL, for workers on several machines. Without it: the folder .searchflow, for one worker.
#SEARCHFLOW_STORE=postgres://user:password@db.internal/etl?sslmode=verify-full

# A Temporal server of your own. Without it, commands start one for this folder.
#TEMPORAL_ADDRESS=temporal.internal:7233
`;

const input = `name,website
PostgreSQL,https://www.postgresql.org
DuckDB,https://duckdb.org
Temporal,https://temporal.io
Node.js,https://nodejs.org
TypeScript,https://www.typescriptlang.org
SQLite,https://www.sqlite.org
Git,https://git-scm.com
Debian,https://www.debian.org
Wikipedia,https://www.wikipedia.org
OpenStreetMap,https://www.openstreetmap.org
`;

const job = `#!/bin/sh
# Buys the text of each website in companies.csv, and writes out/companies.csv. Run it again at any time: it buys only new rows.
# Further flags are added: ./companies.sh --dry-run
set -eu
cd "$(dirname "$0")"
# searchflow as installed in this folder or a parent folder, else that of the PATH.
folder=$PWD
while [ -n "$folder" ] && [ ! -x "$folder/node_modules/.bin/searchflow" ]; do folder=\${folder%/*}; done
[ -z "$folder" ] || PATH="$folder/node_modules/.bin:$PATH"
export PATH SEARCHFLOW_SETTINGS="\${SEARCHFLOW_SETTINGS-.env}"
exec searchflow enrich companies.csv --url-column website --csv out/companies.csv "$@"
`;

const test = `// Runs the job in a copy of its files, on a sandbox of its own: made-up pages, exact bills, no cost. It uses none of your settings.
// Run it with: node --test
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startSandbox } from 'searchflow/sandbox';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
// The copy of the job finds searchflow as the job itself does: installed in this folder or a parent folder.
const installed = [folder];
while (dirname(installed.at(-1)) !== installed.at(-1)) installed.push(dirname(installed.at(-1)));

test('the job buys each website once, and nothing when it runs again', { timeout: 300_000 }, async (t) => {
  const sandbox = await startSandbox({ failureRate: 0 });
  const copy = await mkdtemp(join(tmpdir(), 'companies-test-'));
  t.after(async () => {
    await sandbox.close();
    await rm(copy, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const file of ['companies.csv', 'companies.sh']) await copyFile(join(folder, file), join(copy, file));
  const { PATH = '', HOME, TEMPORAL_CLI } = process.env;
  const env = {
    PATH: [...installed.map((one) => join(one, 'node_modules', '.bin')), PATH].join(delimiter),
    HOME,
    ...(TEMPORAL_CLI ? { TEMPORAL_CLI } : {}),
    SEARCHFLOW_SETTINGS: '',
    SEARCHFLOW_API_KEY: 'sandbox',
    SEARCHFLOW_BASE_URL: sandbox.url,
  };
  const run = () => promisify(execFile)('sh', ['companies.sh', '--yes'], { cwd: copy, env });

  await run();
  const rows = (await readFile(join(folder, 'companies.csv'), 'utf8')).trim().split('\\n').length - 1;
  const { keys, requests } = sandbox.bill();
  assert.deepEqual(Object.values(keys), Array(rows).fill(1));
  const [header] = (await readFile(join(copy, 'out', 'companies.csv'), 'utf8')).split('\\n');
  assert.match(header, /^name,website,.*\\btext\\b/);

  await run();
  assert.equal(sandbox.bill().requests, requests);
});
`;

const readme = `# companies

\`companies.csv\` gets the text of each website, by searchflow. Each website is bought once.

| file | |
|---|---|
| \`companies.sh\` | the job: \`./companies.sh --dry-run\` prints the plan and buys nothing, \`./companies.sh\` runs it |
| \`companies.csv\` | its input; the result is \`out/companies.csv\` |
| \`.env\` | settings: key, caps, databases. Without a key the job runs on the sandbox: made-up pages, no cost |
| \`test\` | \`node --test\` runs the job on a sandbox of its own |

\`\`\`sh
export SEARCHFLOW_SETTINGS=.env        # once in a terminal, for the commands below
npx searchflow doctor                  # checks the set-up and says what to do
npx searchflow jobs                    # status, resume, cancel, export: npx searchflow --help
\`\`\`

## Each night

\`\`\`sh
npx searchflow enrich companies.csv --url-column website --cron '0 3 * * *' --tz Europe/Berlin --refresh-after 30d --max-cost 5 --yes
npx searchflow worker                  # runs the schedule: keep it running, under systemd or in tmux
npx searchflow schedule list
\`\`\`

A run reads the file again and buys new rows, and rows whose answer is older than 30 days. The results are in the warehouse; with a store in
PostgreSQL, a schedule writes no CSV. To write one: \`npx searchflow export companies --csv out/companies.csv\`

## PostgreSQL

Set \`SEARCHFLOW_WAREHOUSE_URL\` (results) and \`SEARCHFLOW_STORE\` (answers, rate limit and budget, for many workers) in \`.env\`, and run
\`npx searchflow doctor\`. Then run the commands above again.
`;

/** The files of a folder with an example job. */
const initFiles: readonly InitFile[] = [
  { path: '.env', what: 'settings: key, caps, databases', mode: 0o600, text: settings },
  {
    path: '.gitignore',
    what: 'keeps keys, state and results out of git',
    mode: 0o644,
    text: `${ignored.join('\n')}\n`,
  },
  { path: 'companies.csv', what: 'an input', mode: 0o644, text: input },
  { path: 'companies.sh', what: 'a job', mode: 0o755, text: job },
  { path: 'README.md', what: 'the commands of this folder', mode: 0o644, text: readme },
  { path: 'test/companies.test.mjs', what: 'a test of the job, on a sandbox', mode: 0o644, text: test },
];
