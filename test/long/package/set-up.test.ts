import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let clone: string;

/** A small clone with this project's scripts and dependencies, one source file and one suite. */
beforeEach(() => {
  clone = folderOfTest();
  for (const path of [
    'scripts',
    '.ci',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.testing.json',
  ]) {
    cpSync(join(root, path), join(clone, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'dir');
  for (const folder of [join('src', 'core'), join('test', 'suites')])
    mkdirSync(join(clone, folder), { recursive: true });
  writeFileSync(join(clone, 'src', 'index.ts'), 'export const answer: number = 42;\n');
  writeFileSync(join(clone, 'test', 'suites', 'index.ts'), `export const suite = 1;\n`);
});

/** Starts a process that takes the lock by the set-up's own code; returns the process and its output. */
async function holder() {
  const script = `import { alone } from './scripts/lock.mjs';
    alone(() => {}, () => { console.log('held'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: clone, stdio: 'pipe' });
  await new Promise((held) => child.stdout.once('data', held));
  return { child, lock: readFileSync(join(clone, '.set-up-lock'), 'utf8') };
}

const setUp = () => spawnSync(process.execPath, [join(clone, 'scripts', 'set-up.mjs')], { encoding: 'utf8' });
const built = () => readFileSync(join(clone, 'dist', 'index.js'), 'utf8');

describe('set-up', () => {
  it('builds, reports it on stderr, and then finds nothing to do', () => {
    const first = setUp();
    expect([first.status, first.stdout]).toEqual([0, '']);
    expect(first.stderr).toMatch(/^Building …\nBuilt in [\d.]+ s\.\n$/);
    expect(built()).toContain('answer = 42');
    expect(setUp()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  it('builds again when a source changed, and removes the output of removed sources', () => {
    writeFileSync(join(clone, 'src', 'old.ts'), 'export const old = 1;\n');
    setUp();
    rmSync(join(clone, 'src', 'old.ts'));
    writeFileSync(join(clone, 'src', 'index.ts'), 'export const answer: number = 43;\n');
    setUp();
    expect(built()).toContain('answer = 43');
    expect(existsSync(join(clone, 'dist', 'old.js'))).toBe(false);
  });

  it('builds the suites on the new declarations, and again when a suite changed', () => {
    const suites = join(clone, 'test', 'suites');
    writeFileSync(join(suites, 'old.ts'), 'export const old = 1;\n');
    setUp();
    rmSync(join(suites, 'old.ts'));
    writeFileSync(join(clone, 'src', 'core', 'other.ts'), 'export const other = 43;\n');
    writeFileSync(join(suites, 'index.ts'), `export { other as wanted } from '#searchflow/core/other.js';\n`);
    expect(setUp()).toMatchObject({ status: 0 });
    expect(readFileSync(join(clone, 'dist', 'testing', 'index.js'), 'utf8')).toContain('other as wanted');
    expect(existsSync(join(clone, 'dist', 'testing', 'old.js'))).toBe(false);
    writeFileSync(join(suites, 'index.ts'), `export { none } from '#searchflow/core/other.js';\n`);
    const { status, stderr } = setUp();
    expect(status).toBe(1);
    expect(stderr).toContain('test/suites/index.ts(1,10): error TS2305');
  });

  it('ends with 1 and the compiler’s message when a source is wrong, each time until it is fixed', () => {
    writeFileSync(join(clone, 'src', 'index.ts'), `export const answer: number = 'none';\n`);
    for (const { status, stdout, stderr } of [setUp(), setUp()]) {
      expect([status, stdout]).toEqual([1, '']);
      expect(stderr).toContain('src/index.ts(1,14): error TS2322');
    }
  });

  it('builds once when two commands start together', async () => {
    const runs = [1, 2].map(async () => {
      const child = spawn(process.execPath, [join(clone, 'scripts', 'set-up.mjs')], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      for await (const chunk of child.stderr) said += String(chunk);
      return said;
    });
    const said = (await Promise.all(runs)).join('');
    expect(said.match(/^Building/gm)).toHaveLength(1);
    expect(existsSync(join(clone, '.set-up-lock'))).toBe(false);
  });

  it('waits for a living process, and says so', async () => {
    const { child, lock } = await holder();
    const waiting = spawn(process.execPath, [join(clone, 'scripts', 'set-up.mjs')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = new Promise<string>((resolve) => waiting.stderr.setEncoding('utf8').on('data', resolve));
    expect(await said).toContain(`Process ${child.pid} is setting up this folder; waiting for it`);
    expect(readFileSync(join(clone, '.set-up-lock'), 'utf8')).toBe(lock);
    child.kill('SIGKILL');
    expect(await new Promise((resolve) => waiting.once('exit', resolve))).toBe(0);
  });
});

/** The result of a step of `.ci/run`: the content of its result file, if there is one, and its exit code. */
interface Step {
  readonly code?: number;
  readonly result?: object;
}

describe('.ci/run', () => {
  const passing = (count: number): Step => ({
    result: { numPassedTests: count, numFailedTests: 0, testResults: [] },
  });

  function run(steps: { test?: Step; long?: Step; lint?: Step } = {}) {
    const script = (name: string, { code = 0, result }: Step) => {
      const write = `mkdirSync('.test-results', { recursive: true });\nwriteFileSync('.test-results/${name}.json', ${JSON.stringify(JSON.stringify(result))});`;
      const text = `import { mkdirSync, writeFileSync } from 'node:fs';\n${result ? write : ''}\nprocess.exitCode = ${code};\n`;
      writeFileSync(join(clone, `${name}.mjs`), text);
      return `node ${name}.mjs`;
    };
    const ok = script('ok', {});
    const scripts = {
      test: script('test', steps.test ?? passing(7)),
      'test:long': script('long', steps.long ?? passing(5)),
      lint: script('lint', steps.lint ?? {}),
      ...{ types: ok, unused: ok, imports: ok, size: ok, commits: ok, licences: ok },
    };
    writeFileSync(join(clone, 'package.json'), JSON.stringify({ name: 'clone', scripts }));
    const { status, stdout } = spawnSync(join(clone, '.ci', 'run'), { encoding: 'utf8' });
    const lines = stdout.trimEnd().split('\n');
    const failed = lines.filter((line) => / ended with \d+$/.test(line));
    return { status, last: lines.at(-1), failed, names: lines.filter((line) => line.startsWith('FAILED ')) };
  }

  function failures(): object[] {
    const failed = (fullName: string) => ({ fullName, status: 'failed', failureMessages: ['expected 1\n  to be 2'] });
    const assertionResults = [failed('adds'), { fullName: 'divides', status: 'passed' }, failed('subtracts')];
    return [{ name: join(clone, 'test', 'a.test.ts'), status: 'failed', assertionResults }];
  }

  it('ends with the counts of both tiers and keeps the exit code', () => {
    expect(run()).toMatchObject({ status: 0, failed: [], last: '12 passed, 0 failed' });
    const failing = { numPassedTests: 7, numFailedTests: 2, testResults: failures() };
    const names = ['FAILED test/a.test.ts > adds', 'FAILED test/a.test.ts > subtracts'];
    expect(run({ test: { result: failing, code: 3 } })).toMatchObject({
      status: 3,
      last: '12 passed, 2 failed',
      names,
    });
    expect(run({ long: { result: failing, code: 1 } })).toMatchObject({
      status: 1,
      last: '14 passed, 2 failed',
      names,
    });
  });

  it('counts a test file that could not be loaded, and an error outside of every test, as a failure', () => {
    const broken = { numPassedTests: 7, numFailedTests: 0, testResults: [{ status: 'failed', assertionResults: [] }] };
    expect(run({ test: { result: broken, code: 1 } })).toMatchObject({ status: 1, last: '12 passed, 1 failed' });
    expect(run({ long: { ...passing(7), code: 1 } })).toMatchObject({ status: 1, last: '14 passed, 1 failed' });
  });

  it('fails if a check fails, though every test passes', () => {
    const failed = ['== npm run -s lint ended with 1'];
    expect(run({ lint: { code: 1 } })).toEqual({ status: 1, last: '12 passed, 0 failed', failed, names: [] });
  });
});
