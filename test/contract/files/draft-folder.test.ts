import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { withDraftFolder } from '../../../src/files/draft-folder.js';
import { LockBusy } from '../../../src/files/process-lock.js';
import { folderOfTest } from '../../support/files/folders.js';

const built = new URL('../../../dist/files/draft-folder.js', import.meta.url).href;
const wait = { waitMs: 30_000 };

function folder(): string {
  const dir = folderOfTest();
  return dir;
}

/** Runs a process that is killed while it has a draft folder for this target; returns the path of the folder. */
async function killedIn(target: string): Promise<string> {
  const code = `import { withDraftFolder } from ${JSON.stringify(built)};
    await withDraftFolder(${JSON.stringify(target)}, async (draft) => { console.log(draft); setInterval(() => {}, 1000); await new Promise(() => {}); }, { waitMs: 1000 });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGKILL');
  await once(child, 'exit');
  return said.toString().trim();
}

it('a target has one draft folder at a time, none through a link, and no files are left', async () => {
  const dir = folder();
  symlinkSync(dir, join(dir, 'link'));
  let inside = 0;
  const most: number[] = [];
  const work = async () => {
    most.push(++inside);
    await new Promise(setImmediate);
    inside--;
  };
  const targets = [join(dir, 'out.csv'), join(dir, '.', 'out.csv'), join(dir, 'x', '..', 'out.csv')];
  await Promise.all([...targets, ...targets].map((target) => withDraftFolder(target, work, wait)));
  expect(most).toEqual([1, 1, 1, 1, 1, 1]);
  const linked = withDraftFolder(join(dir, 'link', 'out.csv'), work, wait);
  await expect(linked).rejects.toThrow('was replaced by a link');
  expect(readdirSync(dir)).toEqual(['link']);
});

it('a wait for a draft folder ends with the name of the other process, and other targets do not wait', async () => {
  const target = join(folder(), 'out.csv');
  await withDraftFolder(
    target,
    async () => {
      const second = withDraftFolder(target, async () => 'never', { waitMs: 0 });
      await expect(second).rejects.toThrow(LockBusy);
      await expect(second).rejects.toThrow(`${target} is still locked by PID ${process.pid}`);
      expect(await withDraftFolder(`${target}.gz`, async () => 'other', { waitMs: 0 })).toBe('other');
    },
    wait,
  );
});

it('the draft of a killed process is removed for the target, and no file of others', async () => {
  const dir = folder();
  const target = join(dir, 'out.csv');
  const dead = await killedIn(target);
  const other = await killedIn(join(dir, 'other.csv'));
  const prefix = basename(dead).slice(0, -16);
  // A process that is killed early leaves a draft folder without a mark.
  mkdirSync(join(dir, `${prefix}${'f'.repeat(16)}`));
  // Other folders and links have such a name, but no mark, or the mark of another target or machine.
  const mine = ['0123', '4567', '89ab', 'cdef'].map((end) => join(dir, `${prefix}${end.repeat(4)}`));
  for (const path of mine.slice(0, 3)) mkdirSync(path);
  writeFileSync(join(mine[0] as string, 'mine'), '');
  writeFileSync(join(mine[1] as string, 'searchflow-draft.json'), '{"target":"out.csv"}');
  const elsewhere = { target: 'out.csv', host: 'elsewhere', pid: 1, startTime: null };
  writeFileSync(join(mine[2] as string, 'searchflow-draft.json'), JSON.stringify(elsewhere));
  symlinkSync(dead, mine[3] as string);
  await withDraftFolder(target, async () => undefined, wait);
  expect(readdirSync(dir).sort()).toEqual(
    [other, `${other.slice(0, -16)}lock`, ...mine].map((path) => basename(path)).sort(),
  );
  // The draft of another machine is removed once it is a day old.
  utimesSync(join(mine[2] as string, 'searchflow-draft.json'), 0, 0);
  await withDraftFolder(target, async () => undefined, wait);
  expect(readdirSync(dir)).not.toContain(basename(mine[2] as string));
});

it('a folder that a killed process had just moved aside gets its name back', async () => {
  const dir = folder();
  const target = join(dir, 'out');
  mkdirSync(join(await killedIn(target), 'aside'));
  writeFileSync(join(dir, readdirSync(dir).find((name) => !name.endsWith('lock')) as string, 'aside', 'old'), 'whole');
  await withDraftFolder(target, async () => expect(readFileSync(join(target, 'old'), 'utf8')).toBe('whole'), wait);
  expect(readdirSync(dir)).toEqual(['out']);
});

it('a file of a user that has the name of a lock is not emptied', async () => {
  const dir = folder();
  const target = join(dir, 'out.csv');
  const dead = await killedIn(target);
  const lock = `${dead.slice(0, -16)}lock`;
  rmSync(lock);
  writeFileSync(join(dir, 'mine'), 'kept');
  symlinkSync(join(dir, 'mine'), lock);
  await withDraftFolder(target, async () => undefined, wait);
  expect(readFileSync(join(dir, 'mine'), 'utf8')).toBe('kept');
});
