import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { UsageError } from '../../../src/core/errors/coded-error.js';
import { identifier, openPostgres, parseAddress } from '../../../src/postgres/index.js';
import { connectStore } from '../../../src/store/postgres/schema/store-schema.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { runCommand } from '../../support/cli/command.js';
import { folderOfTest } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { fileNamespace } from '../../support/temporal.js';

/** A working folder with these files, and a function that returns the present files. */
function folderWith(files: Record<string, string>) {
  const dir = folderOfTest();
  for (const [file, text] of Object.entries({ 'in.csv': 'url\nhttps://a.example/\n', ...files })) {
    mkdirSync(dirname(join(dir, file)), { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, file), text);
  }
  const present = () =>
    readdirSync(dir, { recursive: true, encoding: 'utf8', withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, isFile(path) ? readFileSync(path, 'utf8') : null]);
  return { dir, present };
}

function isFile(path: string): boolean {
  try {
    readdirSync(path);
    return false;
  } catch {
    return true;
  }
}

const newer = /The state folder '[^']+' was written by a newer version of searchflow\. Update searchflow/;
const damaged = /The file format of the state folder '[^']+' is damaged: .+ Restore it from a backup\./;
const job = { '.searchflow/jobs/in-1a2b3c.json': '{"staged":{"job":"in-1a2b3c"}}' };

it.each([
  ['the format of a newer version', { ...job, '.searchflow/format': '2\n' }, ['usage'], newer],
  ['an empty format', { ...job, '.searchflow/format': '' }, ['jobs'], damaged],
  ['a damaged format', { ...job, '.searchflow/format': 'garbage' }, ['jobs'], damaged],
])(
  'a state folder of another format is refused, and nothing in it is changed: %s',
  async (_name, files, args, sentence) => {
    const { dir, present } = folderWith(files);
    const found = present();
    const { code, out, err } = await runCommand(args, { cwd: dir });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(sentence);
    expect(present()).toEqual(found);
  },
);

it('a state folder gets its format with its first job or purchase, and not from caps or a command that only reads', async () => {
  const { dir } = folderWith({});
  const temporal = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: fileNamespace() };
  const env = { XDG_STATE_HOME: join(dir, 'user'), ...temporal };
  const run = async (...args: string[]) => expect(await runCommand(args, { cwd: dir, env })).toMatchObject({ code: 0 });
  await run('jobs');
  expect(readdirSync(dir)).toEqual(['in.csv']);
  await run('limits', 'set', '--per-day', '5');
  expect(readdirSync(join(dir, '.searchflow'))).toEqual(['journal']);
  await run('enrich', 'in.csv', '--into', 'out.duckdb');
  expect(readFileSync(join(dir, '.searchflow', 'format'), 'utf8')).toBe('1\n');
  await run('jobs');
});

describe('a schema', () => {
  /** A schema with these migrations, and a function that returns its tables and their rows. */
  async function schemaWith(...migrations: readonly string[]) {
    const url = `${await sharedPostgres().database()}?schema=od%22d`;
    const postgres = await openPostgres(parseAddress(url, 'x'), { applicationName: 'test' });
    onTestFinished(() => postgres.close());
    const schema = identifier(postgres.address.schema);
    await postgres.query(`CREATE SCHEMA ${schema}`);
    await postgres.query(
      `CREATE TABLE ${schema}.searchflow_migrations (name text PRIMARY KEY, applied_at timestamptz)`,
    );
    for (const name of migrations)
      await postgres.query(`INSERT INTO ${schema}.searchflow_migrations VALUES ($1, now())`, [name]);
    const present = () =>
      postgres.query(
        `SELECT c.relname, m.name FROM pg_class c CROSS JOIN ${schema}.searchflow_migrations m
         WHERE relnamespace = $1::regnamespace ORDER BY 1, 2`,
        [schema],
      );
    return { url, present };
  }

  it('of another program is refused as a store, and nothing in it is changed', async () => {
    const { url, present } = await schemaWith('0001-journal-tables', '0106-search-path');
    const found = await present();
    const refused = await connectStore(url, { applicationName: 'test' }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UsageError);
    expect((refused as Error).message).toMatch(
      /^The store postgres:\/\/127\.0\.0\.1:\d+\/\w+\S* was not created by this version of searchflow\. Use another schema/,
    );
    expect(await present()).toEqual(found);
  });

  it('of a warehouse is refused as a store, and that of a store as a warehouse', async () => {
    const url = await sharedPostgres().database();
    const [warehouse, store] = [`${url}?schema=one`, `${url}?schema=two`];
    const job = { job: 'a-1', name: 'a', origin: 'sandbox', operation: 'contents', input: '-', columns: ['url'] };
    const open = async (address: string) => {
      const { rows, close } = openWarehouse(address);
      await rows.openJob({ ...job, generation: '1', options: {}, rows: 0, slices: 0 }, []).finally(close);
    };
    await open(warehouse);
    await expect(connectStore(warehouse, { applicationName: 'test' })).rejects.toThrow(
      /^The store \S+ is a warehouse of searchflow\. Use another schema/,
    );
    await (await connectStore(store, { applicationName: 'test' })).close();
    const refusal = 'is a store of searchflow, not a warehouse. Load into another schema';
    await expect(open(store)).rejects.toThrow(refusal);
    // A plan and a dry run only read.
    const { rows, close } = openWarehouse(store);
    await expect(rows.loadedSlices('a-1', '1').finally(close)).rejects.toThrow(refusal);
  });

  it('that a newer version has migrated is used', async () => {
    const url = `${await sharedPostgres().database()}?schema=od%22d`;
    const first = await connectStore(url, { applicationName: 'test' });
    await first.query(
      `INSERT INTO ${identifier(first.address.schema)}.searchflow_migrations VALUES ('0002-later', now())`,
    );
    await first.close();
    await (await connectStore(url, { applicationName: 'test' })).close();
  });
});
