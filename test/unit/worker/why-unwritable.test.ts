import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { whyUnwritable } from '../../../src/worker/config/warehouse-setting.js';
import { folderOfTest } from '../../support/files/folders.js';

function folder(): string {
  const dir = folderOfTest();
  return dir;
}

it('whyUnwritable accepts a DuckDB file and a missing one, and leaves nothing behind', async () => {
  const dir = folder();
  const [there, missing] = [join(dir, 'a.duckdb'), join(dir, 'new', 'b.duckdb')];
  const instance = await DuckDBInstance.create(there);
  const connection = await instance.connect();
  await connection.run('CREATE TABLE t (x INTEGER)');
  // The check reads the open file and must not release its lock: no other process may be able to open it.
  expect(await whyUnwritable(there)).toBeNull();
  const another = `import { DuckDBInstance } from '@duckdb/node-api'; await DuckDBInstance.create(${JSON.stringify(there)});`;
  expect(() => execFileSync(process.execPath, ['--input-type=module', '-e', another], { stdio: 'pipe' })).toThrow(
    /Could not set lock/,
  );
  connection.closeSync();
  instance.closeSync();
  expect(await Promise.all([there, missing].map(whyUnwritable))).toEqual([null, null]);
  expect(readdirSync(dir)).toEqual(['a.duckdb']);
  expect(existsSync(join(dir, 'new'))).toBe(false);
});

it('whyUnwritable refuses a folder, and a file that DuckDB does not open', async () => {
  const dir = folder();
  const files = ['', 'short', 'url,name\nhttps://example.com,a\n'].map((text, index) => {
    writeFileSync(join(dir, `${index}.txt`), text);
    return join(dir, `${index}.txt`);
  });
  expect(await whyUnwritable(dir)).toBe('it is a folder; name a file');
  for (const file of files) {
    expect(await whyUnwritable(file)).toContain('it is not a DuckDB database; name another file');
    await expect(DuckDBInstance.create(file)).rejects.toThrow(/not a valid DuckDB database/);
  }
});
