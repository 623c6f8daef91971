import { execFileSync } from 'node:child_process';
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { draftOf } from '../../../src/files/write-durably.js';
import { FileSecrets } from '../../../src/store/process/file-secrets.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'searchflow-secrets-'));
  file = join(folder, 'deeper', 'secrets.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('the secret file keeps a secret for the next process, in a file that only its owner may read', async () => {
  await new FileSecrets(file).put('webhook/mon_1', new Secret('whsec canary'));
  const again = new FileSecrets(file);
  expect((await again.get('webhook/mon_1'))?.reveal()).toBe('whsec canary');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'deeper'))).mode & 0o777).toBe(0o700);
  expect(await again.get('webhook/mon_2')).toBeNull();
});

it('the secret file replaces, removes and lists secrets, and leaves no other file behind', async () => {
  const secrets = new FileSecrets(file);
  expect(await secrets.names()).toEqual([]);
  for (const name of ['b', '__proto__', 'a/../c']) await secrets.put(name, new Secret('old'));
  await secrets.put('b', new Secret('new'));
  expect((await secrets.get('b'))?.reveal()).toBe('new');
  expect((await secrets.get('__proto__'))?.reveal()).toBe('old');
  expect([await secrets.remove('b'), await secrets.remove('b')]).toEqual([true, false]);
  expect(await secrets.names()).toEqual(['__proto__', 'a/../c']);
  expect((await readdir(join(folder, 'deeper'))).sort()).toEqual(['secrets.json']);
});

it('the secret file loses nothing if two stores write it at once', async () => {
  const stores = [new FileSecrets(file), new FileSecrets(file)];
  const names = Array.from({ length: 12 }, (_, index) => `secret-${String(index).padStart(2, '0')}`);
  await Promise.all(names.map((name, index) => stores[index % 2]?.put(name, new Secret(name))));
  expect(await stores[0]?.names()).toEqual(names);
});

it.skipIf(process.platform === 'win32')('the secret file is not written through a link, nor is its lock', async () => {
  const precious = join(folder, 'precious.txt');
  const secrets = new FileSecrets(file);
  await writeFile(precious, 'precious', { mode: 0o600 });
  await mkdir(join(folder, 'deeper'));
  for (const make of [symlink, link]) {
    await make(precious, `${file}.lock`);
    await expect(secrets.put('a', new Secret('x'))).rejects.toThrow(
      /secrets\.json\.lock cannot be used as a lock: it is a link/,
    );
    await rm(`${file}.lock`);
  }
  await symlink(precious, file);
  await expect(secrets.put('a', new Secret('x'))).rejects.toThrow(/secrets\.json is a link\. Name the file itself/);
  await expect(secrets.get('a')).rejects.toThrow('is a link');
  expect(await readFile(precious, 'utf8')).toBe('precious');
});

it('the secret file leaves a file unchanged that has the name of its lock by accident', async () => {
  const other = join(folder, 'yarn.lock');
  await writeFile(other, '# yarn lockfile v1\n\nleft-pad@1:\n');
  const refused = new FileSecrets(join(folder, 'yarn')).put('a', new Secret('x'));
  await expect(refused).rejects.toThrow(/yarn\.lock cannot be used as a lock: it is a link, or another file/);
  expect(await readFile(other, 'utf8')).toBe('# yarn lockfile v1\n\nleft-pad@1:\n');
});

it.skipIf(process.platform === 'win32')('a named pipe in place of the secret file is refused at once', async () => {
  await mkdir(folder, { recursive: true });
  const pipe = join(folder, 'pipe.json');
  execFileSync('mkfifo', ['-m', '600', pipe]);
  const secrets = new FileSecrets(pipe);
  await expect(secrets.get('a')).rejects.toThrow('is not a regular file');
  await expect(secrets.put('a', new Secret('x'))).rejects.toThrow('is not a regular file');
  expect(await readdir(folder)).not.toContain('pipe.json.lock');
});

it('the secret file is refused if others may read it, with the remedy', async () => {
  const secrets = new FileSecrets(file);
  await secrets.put('a', new Secret('canary'));
  await chmod(file, 0o640);
  await expect(secrets.get('a')).rejects.toThrow(/mode 640, so other users may read it\. Run: chmod 600/);
  await expect(secrets.put('b', new Secret('x'))).rejects.toThrow('chmod 600');
  expect(await readdir(dirname(file))).toEqual([basename(file)]);
});

it.each(['', '{"v":1,', '[]', '{"secrets":["canary"]}', '{"secrets":{"a":{"canary":1}}}'])(
  'the secret file is refused if it is damaged (%j), without showing it, and left unchanged',
  async (text) => {
    const secrets = new FileSecrets(join(folder, 'damaged.json'));
    await writeFile(join(folder, 'damaged.json'), text, { mode: 0o600 });
    const error: unknown = await secrets.put('b', new Secret('x')).catch((e: unknown) => e);
    expect(String(error)).toMatch(/^SecretStoreUnusable: the secret file .*damaged/);
    expect(String(error)).not.toContain('canary');
    expect(await readFile(join(folder, 'damaged.json'), 'utf8')).toBe(text);
    expect(await readdir(folder)).not.toContain('damaged.json.lock');
  },
);

it('fault 24: the remains of a killed change are removed by the next one', async () => {
  const secrets = new FileSecrets(file);
  await secrets.put('a', new Secret('canary'));
  await writeFile(draftOf(file), 'half of the canary', { mode: 0o600 });
  await new FileSecrets(file).remove('nothing');
  expect((await readdir(join(folder, 'deeper'))).sort()).toEqual(['secrets.json']);
  expect(await secrets.names()).toEqual(['a']);
});

it.runIf(process.platform === 'linux')(
  'the secret file fails if its folder cannot be created, and does not retry for ever',
  async () => {
    await expect(new FileSecrets('/proc/nowhere/secrets.json').put('a', new Secret('x'))).rejects.toThrow(
      /ENOENT|EACCES/,
    );
  },
);
