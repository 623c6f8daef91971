import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeDurably } from '../../../src/files/write-durably.js';
import { folderOfTest } from '../../support/files/folders.js';

const root = new URL('../../../src/', import.meta.url).pathname;
const built = new URL('../../../dist/files/write-durably.js', import.meta.url).href;

function folder(): string {
  const dir = folderOfTest();
  return dir;
}

it('writeDurably replaces a file whole, with its mode, and leaves nothing beside it', async () => {
  const dir = folder();
  const file = join(dir, 'state.json');
  await writeDurably(file, 'first');
  await writeDurably(file, Buffer.from('second'), { mode: 0o640 });
  expect(readFileSync(file, 'utf8')).toBe('second');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(dir)).toEqual(['state.json']);
});

it('writeDurably removes its draft if the file cannot be replaced', async () => {
  const dir = folder();
  await expect(writeDurably(dir, 'text')).rejects.toThrow();
  expect(readdirSync(join(dir, '..')).filter((name) => name.endsWith('.draft'))).toEqual([]);
});

it('writeDurably replaces a link by the file and never writes to the target of the link', async () => {
  const dir = folder();
  const [file, elsewhere] = [join(dir, 'state.json'), join(dir, 'elsewhere')];
  writeFileSync(elsewhere, 'kept');
  symlinkSync(elsewhere, file);
  await writeDurably(file, 'text');
  expect([elsewhere, file].map((path) => readFileSync(path, 'utf8'))).toEqual(['kept', 'text']);
});

// Only the system calls show the order in which data reaches the disk.
it.runIf(process.platform === 'linux' && hasStrace())(
  'writeDurably syncs the file before its name, and the folder after it',
  async () => {
    const dir = folder();
    const code = `import { writeDurably } from ${JSON.stringify(built)}; await writeDurably(${JSON.stringify(join(dir, 'a'))}, 'x');`;
    const log = join(dir, 'log');
    execFileSync('strace', [
      '-f',
      '-y',
      '-o',
      log,
      '-e',
      'trace=fsync,rename',
      process.execPath,
      '--input-type=module',
      '-e',
      code,
    ]);
    const calls = [...readFileSync(log, 'utf8').matchAll(/(fsync|rename)\((?:\d+<([^>]*)>)?/g)].map(
      ([, call, path]) => [call, path?.endsWith('.draft') ? 'draft' : path === dir ? 'folder' : undefined],
    );
    expect(calls).toEqual([
      ['fsync', 'draft'],
      ['rename', undefined],
      ['fsync', 'folder'],
    ]);
  },
);

it('writeDurably leaves a whole file, the old or the new one, when its process is killed', async () => {
  const dir = folder();
  const file = join(dir, 'state.json');
  const text = (fill: string) => fill.repeat(200_000);
  await writeDurably(file, text('a'));
  const code = `import { writeDurably } from ${JSON.stringify(built)};
    console.log('begun'); for (;;) for (const fill of 'bc') await writeDurably(${JSON.stringify(file)}, fill.repeat(200_000));`;
  for (let kill = 0; kill < 3; kill++) {
    const writer = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(writer.stdout, 'data');
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    const found = readFileSync(file, 'utf8');
    expect(['a', 'b', 'c'].map(text)).toContain(found);
  }
});

it('only write-durably.ts renames files', () => {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const renaming = names.filter((name) => /\brename(Sync)?\(/.test(readFileSync(join(root, name), 'utf8')));
  expect(renaming).toEqual([join('files', 'write-durably.ts')]);
});

function hasStrace(): boolean {
  try {
    execFileSync('strace', ['-e', 'trace=none', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
