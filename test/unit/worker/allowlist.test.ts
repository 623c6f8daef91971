import { mkdirSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JobEntry } from '../../../src/core/job-entry-schemas.js';
import { entryAfter, stageOf } from '../../../src/core/rows/job-entries.js';
import { Allowlist, allowedBy } from '../../../src/worker/config/allowlist.js';
import { readConfig } from '../../../src/worker/config/config.js';
import { databaseWarehouse, parseServer } from '../../../src/worker/config/database-setting.js';
import { warehouseOf } from '../../../src/worker/config/warehouse-setting.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
const open = join(dir, 'open');
mkdirSync(join(open, 'inner'), { recursive: true });
mkdirSync(join(dir, 'closed'));
symlinkSync(join(dir, 'closed'), join(open, 'out'));
symlinkSync(join(open, 'inner'), join(open, 'in'));
symlinkSync('loop', join(open, 'loop'));
symlinkSync('code', join(open, 'to-code.csv'));

const stateDir = join(open, 'state');
const warehouse = databaseWarehouse(
  'postgres://ann:canary@DB.internal:6000/dw?sslmode=verify-full&sslrootcert=/etc/ca.pem',
);
const nothing = { allowed: async () => [] };
const list = (changes = {}, entries: Partial<ConstructorParameters<typeof Allowlist>[1]> = {}) =>
  new Allowlist({ paths: [open], hosts: [], stateDir, warehouse, ...changes }, { ...nothing, ...entries });

describe('the allowlist of a worker', () => {
  it('allows files below its folders, through any links, and no others', async () => {
    for (const path of [
      'a.csv',
      'inner/a.csv',
      'in/a.csv',
      'new/folder/a.csv',
      'inner/../a.csv',
      'a..csv',
      '..a/../b.csv',
    ])
      expect([path, await list().whyRefused({ csv: `${open}/${path}` })]).toEqual([path, null]);
    const closed = [
      '',
      '..',
      '../closed/a.csv',
      'out/a.csv',
      'out',
      'inner/../../a',
      'state/x',
      'state',
      '.env',
      'a/.b/c',
    ];
    for (const path of closed)
      expect([path, await list().whyRefused({ csv: `${open}/${path}` })]).toEqual([
        path,
        expect.stringMatching(/PATHS/),
      ]);
    expect(await list().whyRefused({ csv: `${open}-beside/a.csv` })).toMatch(/PATHS/);
    expect(
      await list({ paths: [join(open, 'state', 'inner')] }).whyRefused({ csv: `${stateDir}/inner/a.csv` }),
    ).toBeNull();
  });

  it('allows its folders and patterns in them as inputs, and addresses on its servers with their port', async () => {
    const own = ['s3://bucket', 's3://bucket?endpoint=minio:9000&use_ssl=false'];
    const hosts = ['data.example.com:443', 's3.amazonaws.com:443', 'minio:9000', ...own].map(parseServer);
    const allowed = [
      open,
      `${open}/inner`,
      `${open}/*.csv`,
      'https://DATA.example.com/a.csv?page=1',
      's3://bucket/*.parquet',
    ];
    for (const input of [...allowed, 's3://bucket/a.csv?endpoint=minio:9000&use_ssl=false'])
      expect([input, await list({ hosts }).whyRefused({ input })]).toEqual([input, null]);
    const refused: [input: string, why: RegExp][] = [
      [`${open}/out/*.csv`, /PATHS/],
      ['http://data.example.com/a.csv', /may not read from data\.example\.com:80\. .* SEARCHFLOW_HOSTS/],
      ['https://data.example.com.evil.example/a.csv', /HOSTS/],
      ['https://data.example.com@evil.example/a.csv', /has a user or password/],
      ['s3://bucket/a.csv?endpoint=evil.example', /may not read from s3:\/\/bucket\?endpoint=evil\.example/],
      ['s3://other/a.csv', /may not read from s3:\/\/other\. .* add s3:\/\/other to SEARCHFLOW_HOSTS/],
      ['s3://bucket/a.csv?endpoint=minio:9000', /may not read from s3:\/\/bucket\?endpoint=minio:9000/],
      ...[
        's3://bucket/a.csv?endpoint=minio:9000&endpoint=evil.example',
        's3://bucket/a.csv?region=evil.example/',
        's3://bucket/a.csv?endpoint=evil.example%23.minio:9000',
        's3://bucket/a.csv?use_ssl=no',
      ].map((input): [string, RegExp] => [input, /has a wrong value of the parameter/]),
      ['s3://bucket/a.csv?%65ndpoint=evil.example', /may not read from s3:\/\/bucket\?endpoint=evil\.example/],
      ['s3://evil.example#/a.csv', /has a character that no address has/],
      ['https://data.example.com\\.evil.example/a.csv', /has a character that no address has/],
      ['https:///a.csv', /has no valid server/],
      ['HTTPS://data.example.com/a.csv', /must be in lower case/],
      ['s3://bucket/a/../../b.csv', /has a step such as \.\./],
      ['https://data.example.com/a.csv?pwd=canary', /has the parameter pwd/],
      ['https://data.example.com/a.csv?X-Amz-Signature=canary', /has the parameter X-Amz-Signature/],
      ['s3://bucket/a.csv?secret=canary', /has the parameter secret/],
    ];
    for (const [input, why] of refused) {
      const said = await list({ hosts }).whyRefused({ input });
      expect([input, said]).toEqual([input, expect.stringMatching(why)]);
      expect(said).not.toContain('canary');
    }
  });

  it('refuses targets of a publish that lead to another server, or to plain text', async () => {
    const own = list({ hosts: ['s3://mine?endpoint=minio:9000'] });
    const why = (publish: string) => own.whyRefused({ publish });
    expect(await why('s3://mine/x?endpoint=minio:9000')).toBeNull();
    expect(await why('s3://mine/x?endpoint=minio:9000&use_ssl=false')).toMatch(
      /minio:9000&use_ssl=false to SEARCHFLOW/,
    );
    for (const target of [
      's3://mine/x?endpoint=minio:9000&endpoint=evil.example',
      's3://mine/x?endpoint=minio:9000&region=evil.example/',
    ])
      expect([target, await why(target)]).toEqual([
        target,
        expect.stringMatching(/has a wrong value of the parameter/),
      ]);
    expect(await why('s3://AKIA:canary@mine/x')).toMatch(/has a user or password/);
    expect(await why('s3://AKIA:canary@mine/x')).not.toContain('canary');
    expect(await why('S3://mine/x')).toMatch(/must be in lower case/);
  });

  it('allows an open file in a pattern that a person typed, and no file beside it', async () => {
    const input = '/closed/*.csv';
    const entered = { allowed: async () => allowedBy({ input }) };
    await list({}, entered).checkFile('/closed/a.csv', input);
    await expect(list({}, entered).checkFile('/other/a.csv', input)).rejects.toThrow(/may not use \/other\/a\.csv/);
    await expect(list().checkFile('/closed/a.csv', input)).rejects.toThrow(/PATHS/);
    const typed = { allowed: async () => allowedBy({ input: 'https://data.example.com/a.csv' }) };
    expect(await list({}, typed).whyRefused({ input: 'https://data.example.com/b.csv' })).toBeNull();
  });

  it('allows the server of the warehouse and those of the setting, by host and port', async () => {
    const hosts = [parseServer('db2.internal'), parseServer('[::1]:6432'), parseServer('/run/postgresql')];
    const fine = [
      'postgres://db.INTERNAL:6000/other?sslmode=verify-full',
      'postgres://db.internal:6000/dw?sslmode=verify-full&sslrootcert=/etc/ca.pem',
      'postgresql://db2.internal/x',
      'POSTGRES://db2.internal:5432/x',
      'postgres://[0:0::1]:6432/x',
      'postgres:///x?host=/run/postgresql',
    ];
    for (const into of fine) expect([into, await list({ hosts }).whyRefused({ into })]).toEqual([into, null]);
    const refused = [
      'postgres://db.internal/dw',
      'postgres://db2.internal:5433/x',
      'postgres://db2.internal./x',
      'postgres://::1/x',
      'postgres://[::1]/x',
      'postgres:///x',
      'postgres:///x?host=db3.internal',
      'postgres:///x?host=/run/postgresql&port=6432',
      'postgres://db2.internal/x?sslmode=verify-full&sslrootcert=/etc/other.pem',
      'postgres://db2.internal/x?sslmode=verify-full&sslcert=/etc/ca.pem&sslkey=/root/key',
    ];
    for (const into of refused)
      expect([into, await list({ hosts }).whyRefused({ into })]).toEqual([
        into,
        expect.stringMatching(/HOSTS|not a certificate|not the address/),
      ]);
    expect(await list({ warehouse: null }).whyRefused({ into: 'postgres://db.internal:6000/dw' })).toMatch(/HOSTS/);
  });

  it('lets a workflow weaken the encryption of a named server only if its entry or a person allows it', async () => {
    const asks = (hosts: readonly string[], mode: string, entries = {}) =>
      list({ hosts: hosts.map(parseServer) }, entries).whyRefused({
        into: `postgres://db2.internal/x?sslmode=${mode}`,
      });
    expect(await asks(['db2.internal'], 'require')).toBeNull();
    expect(await asks(['db2.internal'], 'disable')).toMatch(/must use sslmode=require or stricter \(got disable\)/);
    expect(await asks(['db2.internal?sslmode=disable'], 'disable')).toBeNull();
    expect(await asks(['db2.internal?sslmode=verify-full'], 'require')).toMatch(/sslmode=verify-full or stricter/);
    expect(await asks(['db2.internal?sslmode=verify-full'], 'verify-full')).toBeNull();
    expect(
      await list({ hosts: ['127.0.0.1:5432'] }).whyRefused({ into: 'postgres://127.0.0.1/x?sslmode=disable' }),
    ).toBeNull();
    const typed = (mode: string) => ({
      allowed: async () => allowedBy({ into: `postgres://db2.internal/y?sslmode=${mode}` }),
    });
    expect(await asks([], 'disable', typed('require'))).toMatch(/HOSTS/);
    expect(await asks([], 'disable', typed('disable'))).toBeNull();
    expect(await asks([], 'require', typed('disable'))).toBeNull();
  });

  it('refuses a value that is neither a path nor an address, without showing it', async () => {
    for (const into of ['file:///x', 'https://x/y', 'a\0b', '', 'x'.repeat(5000), 5 as unknown as string])
      expect(await list({ paths: ['/'] }).whyRefused({ into })).toMatch(/^into: /);
    expect(await list().whyRefused({ into: 'postgres://ann:canary@db/x?canary=1' })).not.toContain('canary');
    expect(await list({ paths: ['/'] }).whyRefused({ csv: join(open, 'loop', 'a.csv') })).toBeNull();
  });

  it('allows typed paths, in their field and on their machine', async () => {
    const file = join(dir, 'closed', 'x.duckdb');
    const typed = allowedBy({ into: file, csv: '-', secretFile: 'a\0' });
    expect(typed).toEqual([{ field: 'into', what: file, host: hostname() }]);
    const entered = list({}, { allowed: async () => typed });
    expect(await entered.whyRefused({ into: join(open, 'out', 'x.duckdb') })).toBeNull();
    expect(await entered.whyRefused({ csv: file })).toMatch(/PATHS/);
    const elsewhere = typed.map((one) => ({ ...one, host: 'another-machine' }));
    expect(await list({}, { allowed: async () => elsewhere }).whyRefused({ into: file })).toMatch(/PATHS/);
    const server = allowedBy({ into: 'postgres://db3.internal/x?sslmode=verify-full' });
    expect(
      await list({}, { allowed: async () => server }).whyRefused({ into: 'postgres://DB3.internal/y' }),
    ).toBeNull();
  });

  it('lets a workflow write a CSV only to a file that ends with .csv, unless a person typed another name', async () => {
    for (const csv of ['package.json', 'src/worker.ts', 'new.csv.mjs', 'code', 'to-code.csv'])
      expect(await list().whyRefused({ csv: join(open, csv) })).toMatch(/does not end with \.csv\. Name a \.csv file/);
    expect(await list().whyRefused({ csv: join(open, 'UPPER.CSV') })).toBeNull();
    const typed = allowedBy({ csv: join(open, 'rows.txt') });
    expect(await list({}, { allowed: async () => typed }).whyRefused({ csv: join(open, 'rows.txt') })).toBeNull();
  });

  it.each([
    ['postgres//ann:canary@h/dw', /is not an address of PostgreSQL; write postgres:\/\/host:5432\/database/],
    ['postgresql;//ann:canary@h/dw', /is not an address of PostgreSQL/],
    ['postgres:/h/dw', /is not an address of PostgreSQL; write postgres:\/\/host:5432\/database/],
    ['postgresql+psycopg://ann:canary@h/dw', /is not an address of PostgreSQL/],
    [' postgres://ann:canary@h/dw', /has quotes, white space or the name of an option around it/],
    ['md:canary', /md: is not supported; give the path of a DuckDB file/],
    ['mysql://ann:canary@h/dw', /mysql: is not supported/],
    [':memory:', /is a database in memory/],
  ])('refuses the mistyped warehouse %s and shows the intended form, but not the value', async (into, problem) => {
    const why = await list({ paths: ['/'] }).whyRefused({ into });
    expect(why).toMatch(problem);
    expect(why).not.toContain('canary');
    const read = (env: Record<string, string>, flag?: string) =>
      readConfig({ env, flags: { ...(flag && { into: flag }) }, cwd: dir, say: () => undefined });
    expect(() => read({}, into)).toThrow(problem);
    expect(() => read({ SEARCHFLOW_WAREHOUSE_URL: into })).toThrow(/is not an address such as postgres:\/\/host/);
    expect(() => warehouseOf({}, into, 'usual.duckdb', dir)).toThrow(problem);
    expect(allowedBy({ into: './results:v2.duckdb' })).toMatchObject([{ what: expect.stringMatching(/results:v2/) }]);
    expect(await list().whyRefused({ into: join(open, 'results:v2.duckdb') })).toBeNull();
  });

  it('is set by two variables, and defaults to the working folder and the warehouse', () => {
    const read = (env: Record<string, string>) => readConfig({ env, flags: {}, cwd: dir, say: () => undefined });
    expect(read({})).toMatchObject({ paths: [dir], hosts: [] });
    expect(read({ SEARCHFLOW_PATHS: 'open:/data', SEARCHFLOW_HOSTS: 'A.internal, [::1]:6432,/run/pg' })).toMatchObject({
      paths: [open, '/data'],
      hosts: ['a.internal:5432', '[::1]:6432', '/run/pg:5432'],
    });
    for (const hosts of ['a b', 'ann:canary@db', 'db/x', 'db:0', 'db?host=evil', 'db?sslmode=prefer', 'a,b:x'])
      expect(() => read({ SEARCHFLOW_HOSTS: hosts })).toThrow(/SEARCHFLOW_HOSTS: .* is not a list of database servers/);
  });
});

it('keeps earlier stages under their own names, the newest few', () => {
  const entryOf = (generation: string) => ({ staged: { generation }, csv: `${generation}.csv` }) as JobEntry;
  let entry = entryOf('g1');
  for (const generation of ['g2', 'g3', 'g4', 'g5', 'g4']) entry = entryAfter(entry, entryOf(generation));
  expect(entry.earlier?.map(({ staged }) => staged.generation)).toEqual(['g5', 'g3', 'g2']);
  expect(stageOf(entry, 'g3')?.csv).toBe('g3.csv');
  expect([stageOf(entry, 'g4')?.csv, stageOf(entry, 'g1')]).toEqual(['g4.csv', null]);
});
