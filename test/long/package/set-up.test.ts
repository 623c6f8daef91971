import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let clone: string;

/** A small clone: this project's scripts and dependencies, one source file. */
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'searchflow-clone-'));
  for (const path of ['scripts', '.ci', 'package.json', 'package-lock.json', 'tsconfig.json']) {
    cpSync(join(root, path), join(clone, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'dir');
  mkdirSync(join(clone, 'src'));
  writeFileSync(join(clone, 'src', 'index.ts'), 'export const answer: number = 42;\n');
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

const setUp = () => spawnSync(process.execPath, [join(clone, 'scripts', 'set-up.mjs')], { encoding: 'utf8' });
const built = () => readFileSync(join(clone, 'dist', 'index.js'), 'utf8');

describe('set-up', () => {
  it('builds, says so on stderr, and then finds nothing to do', () => {
    const first = setUp();
    expect([first.status, first.stdout]).toEqual([0, '']);
    expect(first.stderr).toMatch(/^Building …\nBuilt in [\d.]+ s\.\n$/);
    expect(built()).toContain('answer = 42');
    expect(setUp()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  it('builds again when a source changed, and drops what a removed source left behind', () => {
    writeFileSync(join(clone, 'src', 'old.ts'), 'export const old = 1;\n');
    setUp();
    rmSync(join(clone, 'src', 'old.ts'));
    writeFileSync(join(clone, 'src', 'index.ts'), 'export const answer: number = 43;\n');
    setUp();
    expect(built()).toContain('answer = 43');
    expect(existsSync(join(clone, 'dist', 'old.js'))).toBe(false);
  });

  it('carries files that are not TypeScript beside the code', () => {
    writeFileSync(join(clone, 'src', '0001.sql'), 'select 1;\n');
    setUp();
    expect(existsSync(join(clone, 'dist', '0001.sql'))).toBe(true);
  });

  it('ends with 1 and the compiler’s words when a source is wrong, each time until it is mended', () => {
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

  it('passes over the lock of a process that is gone', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    writeFileSync(join(clone, '.set-up-lock'), String(pid));
    expect(setUp().status).toBe(0);
  });
});

describe('.ci/run', () => {
  const run = (script: string) => {
    const manifest = { name: 'clone', scripts: { test: script } };
    writeFileSync(join(clone, 'package.json'), JSON.stringify(manifest));
    const { status, stdout } = spawnSync(join(clone, '.ci', 'run'), { encoding: 'utf8' });
    return { status, last: stdout.trimEnd().split('\n').at(-1) };
  };
  const writing = (result: object, code: number) => {
    writeFileSync(
      join(clone, 'fake.mjs'),
      `import { mkdirSync, writeFileSync } from 'node:fs';\nmkdirSync('.test-results', { recursive: true });\n` +
        `writeFileSync('.test-results/vitest.json', ${JSON.stringify(JSON.stringify(result))});\nprocess.exitCode = ${code};\n`,
    );
    return 'node fake.mjs';
  };

  it('closes with the counts of the result file and keeps the exit code', () => {
    expect(run(writing({ numPassedTests: 7, numFailedTests: 0, testResults: [] }, 0))).toEqual({
      status: 0,
      last: '7 passed, 0 failed',
    });
    expect(run(writing({ numPassedTests: 7, numFailedTests: 2, testResults: [] }, 3))).toEqual({
      status: 3,
      last: '7 passed, 2 failed',
    });
  });

  it('counts a test file that could not be loaded as a failure', () => {
    const result = { numPassedTests: 7, numFailedTests: 0, testResults: [{ status: 'failed', assertionResults: [] }] };
    expect(run(writing(result, 1))).toEqual({ status: 1, last: '7 passed, 1 failed' });
  });

  it('fails without a result file, whatever the tests’ exit code', () => {
    expect(run('node -e "process.exit(4)"')).toEqual({ status: 4, last: '0 passed, 1 failed' });
    expect(run('node -e ""')).toEqual({ status: 1, last: '0 passed, 1 failed' });
  });
});
