import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { openPostgres, parseAddress } from '../../../src/postgres/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';

const dir = folderOfFile();
afterAll(() => void vi.unstubAllEnvs());

it('a password comes from the password file without a warning, and one in the environment goes before it', async () => {
  const { password, urlOf } = sharedPostgres();
  const url = new URL(urlOf('postgres'));
  url.password = '';
  const warnings: string[] = [];
  const onWarning = (warning: Error) => warnings.push(warning.message);
  process.on('warning', onWarning);
  const connect = async () => {
    const address = parseAddress(url.href, 'public');
    const database = await openPostgres(address, { applicationName: 'searchflow test', patienceMs: 0 });
    try {
      return await database.query('SELECT 1 AS one');
    } finally {
      await database.close();
    }
  };
  const file = join(dir, 'pgpass');
  vi.stubEnv('PGPASSWORD', undefined);
  vi.stubEnv('PGPASSFILE', file);
  await expect(connect()).rejects.toThrow(/refused/);
  writeFileSync(file, `*:*:*:*:${password}\n`, { mode: 0o600 });
  expect(await connect()).toEqual([{ one: 1 }]);
  vi.stubEnv('PGPASSWORD', 'not the password');
  await expect(connect()).rejects.toThrow(/refused/);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
