import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FileCaps } from '../../../src/store/file/spend.js';
import { folderOfTest } from '../../support/files/folders.js';

it('the caps belong to each team, and are read again after another process has set them', async () => {
  const dir = folderOfTest();
  const path = join(dir, 'caps.json');
  const [mine, theirs] = [new FileCaps(path), new FileCaps(path)];
  const none = { dayMicros: null, monthMicros: null };
  expect(mine.get('a')).toEqual(none);
  await mine.set('a', { dayMicros: 1, monthMicros: null });
  await theirs.set('b', { dayMicros: null, monthMicros: 2 });
  expect([mine.get('a'), mine.get('b'), theirs.get('a')]).toEqual([
    { dayMicros: 1, monthMicros: null },
    { dayMicros: null, monthMicros: 2 },
    { dayMicros: 1, monthMicros: null },
  ]);
  // Another client writes a file of the same length, and the file keeps its time of change.
  const known = new Date(1_700_000_000_000);
  utimesSync(path, known, known);
  expect(mine.get('a').dayMicros).toBe(1);
  writeFileSync(
    path,
    JSON.stringify({ a: { dayMicros: 3, monthMicros: null }, b: { dayMicros: null, monthMicros: 2 } }, null, 2).concat(
      '\n',
    ),
  );
  expect([mine.get('a').dayMicros, mine.get('c')]).toEqual([3, none]);
  writeFileSync(path, '{"a": {"dayMicros": -1, "monthMicros": null}}');
  expect(() => mine.get('a')).toThrow(/The file of the team's caps is damaged: /);
});
