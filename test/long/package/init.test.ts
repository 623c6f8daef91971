import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PackedPackage, packPackage } from '../../support/package/packed.js';

let packed: PackedPackage;
let project: string;
let env: Record<string, string>;
beforeAll(() => {
  packed = packPackage();
  ({ project } = packed);
  const home = mkdtempSync(join(tmpdir(), 'searchflow-init-home-'));
  const { PATH = '', HOME = '', TEMPORAL_CLI } = process.env;
  // The program of Temporal may be in Go's folder of this user.
  env = { PATH, HOME: home, GOPATH: join(HOME, 'go'), ...(TEMPORAL_CLI ? { TEMPORAL_CLI } : {}) };
  // The command as npm installs it.
  const bin = join(project, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  const main = join(project, 'node_modules', 'searchflow', 'dist', 'bin', 'searchflow.js');
  chmodSync(main, 0o755);
  symlinkSync(main, join(bin, 'searchflow'));
});
afterAll(() => {
  packed?.remove();
  if (env) rmSync(env.HOME as string, { recursive: true, force: true, maxRetries: 5 });
});

const searchflow = (cwd: string, ...args: readonly string[]) =>
  execFileSync(join(project, 'node_modules', '.bin', 'searchflow'), args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  });

it('the folder of `init` works with the installed package: its job runs on the sandbox, and its test passes', async () => {
  const data = JSON.parse(searchflow(project, 'init', 'job', '--json'));
  const job = join(project, 'job');
  expect(data).toEqual({
    ...{ kind: 'init', folder: job, kept: [], notIgnored: [], next: ['cd job', './companies.sh --dry-run'] },
    written: ['.env', '.gitignore', 'companies.csv', 'companies.sh', 'README.md', 'test/companies.test.mjs'],
  });
  // The PATH has no searchflow: the job finds the one of the parent folder.
  const run = (file: string, ...args: readonly string[]) =>
    promisify(execFile)(file, args, { cwd: job, env }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => {
        throw new Error(`${error.stdout}\n${error.stderr}`);
      },
    );
  expect((await run('./companies.sh', '--dry-run')).stdout).toMatch(/^To buy: +10 URLs$/m);
  expect(readdirSync(job)).not.toContain('out');
  await run('./companies.sh');
  expect(readFileSync(join(job, 'out', 'companies.csv'), 'utf8').split('\n')[0]).toMatch(/^name,website,.*\btext\b/);
  const { stdout } = await run(process.execPath, '--test');
  expect(stdout).toMatch(/^# pass 1$/m);
});

it('`init` keeps every file that exists, and names the lines that .gitignore lacks', () => {
  const folder = join(project, 'kept');
  mkdirSync(folder);
  writeFileSync(join(folder, '.gitignore'), '/out\nnode_modules\n');
  writeFileSync(join(folder, 'README.md'), 'mine');
  const data = JSON.parse(searchflow(folder, 'init', '--json'));
  expect(data).toMatchObject({ kept: ['.gitignore', 'README.md'], notIgnored: ['.env', '.searchflow/', '*.tgz'] });
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('mine');
  expect(JSON.parse(searchflow(folder, 'init', '--json')).written).toEqual([]);
});

it('the demonstration runs from the installed package, with its results in the working folder', async () => {
  const folder = join(project, 'demonstration');
  mkdirSync(folder);
  const summary = JSON.parse(searchflow(folder, 'start', '--qps', '50', '--json'));
  expect(summary).toMatchObject({ kind: 'summary', phase: 'done', warehouse: { rows: 3470 } });
  expect(summary.csv).toBe(join(folder, 'out', 'brands.csv'));
  expect(readdirSync(join(folder, 'out')).sort()).toEqual(['brands.csv', 'brands.duckdb']);
});

it('every command has help in an empty folder, and a line without a command prints the commands', () => {
  const folder = join(project, 'empty');
  mkdirSync(folder);
  const commandsIn = (help: string) =>
    [...help.matchAll(/^ {2}([a-z]+(?:-[a-z]+)*)(?: |$)/gm)].map(([, name = '']) => name);
  const top = searchflow(folder, '--help');
  const names = commandsIn(top.slice(0, top.indexOf('Exit codes:')));
  expect(names).toEqual(expect.arrayContaining(['enrich', 'jobs', 'doctor', 'init', 'start', 'worker']));
  for (const name of names) expect(searchflow(folder, name, '--help')).toContain(`Usage: searchflow ${name}`);
  const bare = (() => {
    try {
      return searchflow(folder);
    } catch (error) {
      return (error as { readonly stderr: string }).stderr;
    }
  })();
  expect(bare).toContain('searchflow enrich companies.csv');
  expect(readdirSync(folder)).toEqual([]);
});
