import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type Migration,
  migrate,
  openPostgres,
  type Postgres,
  PostgresAway,
  PostgresRefused,
  parseAddress,
} from '../../../src/postgres/index.js';
import { certificate, localhost } from '../../support/api/self-signed.js';
import { ofFile } from '../../support/of-file.js';
import { startPostgres } from '../../support/postgres-server.mjs';

const server = ofFile(startPostgres);
const opened: Postgres[] = [];

afterAll(async () => {
  await Promise.all(opened.map((postgres) => postgres.close()));
});

async function open(url: string, patienceMs = 20_000): Promise<Postgres> {
  const postgres = await openPostgres(parseAddress(url, 'searchflow_store'), { applicationName: 'test', patienceMs });
  opened.push(postgres);
  return postgres;
}

describe('a database', () => {
  it('is migrated once by all that connect at the same time, in a schema of any name', async () => {
    const url = `${await server.database()}?schema=${encodeURIComponent('od"d')}`;
    const all = await Promise.all(Array.from({ length: 4 }, () => open(url)));
    const create = (schema: string) => `CREATE TABLE ${schema}.a (n int); INSERT INTO ${schema}.a VALUES (1)`;
    await Promise.all(all.map((postgres) => migrate(postgres, { kind: 'store', create, migrations: [] })));
    const run: Migration['run'] = async (tx, schema) => {
      await tx.query(`INSERT INTO ${schema}.a VALUES (2)`);
    };
    const migrations = [{ name: '0002-b', run }];
    await Promise.all(all.map((postgres) => migrate(postgres, { kind: 'store', create, migrations })));
    expect(await (all[0] as Postgres).query('SELECT n FROM "od""d".a ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('is waited for while it is down, and runs a whole transaction again', async () => {
    const postgres = await open(await server.database());
    await postgres.query('CREATE TABLE public.t (n int)');
    let runs = 0;
    await postgres.transaction(async (tx) => {
      await tx.query('INSERT INTO public.t VALUES (1)');
      if (runs++ === 0) await server.kill();
      if (runs === 1) void server.start();
      await tx.query('INSERT INTO public.t VALUES (2)');
    });
    expect(runs).toBe(2);
    expect(await postgres.query('SELECT n FROM public.t ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('is not reported as away while all connections of the process are in use', async () => {
    const said: string[] = [];
    const options = {
      applicationName: 'test',
      max: 1,
      patienceMs: 500,
      say: (sentence: string) => said.push(sentence),
    };
    const url = new URL(await server.database());
    url.searchParams.set('connect_timeout', '1');
    const postgres = await openPostgres(parseAddress(url.href, 'searchflow_store'), options);
    opened.push(postgres);
    const long = postgres.query('SELECT pg_sleep(2.5)');
    expect(await postgres.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await long;
    expect(said).toEqual([]);
  });

  it('delivers notifications again after its connections were cut', async () => {
    const postgres = await open(await server.database());
    const heard: string[] = [];
    let backs = 0;
    let wake = () => {};
    const next = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const first = next();
    await postgres.listen(
      'channel',
      (payload) => {
        heard.push(payload);
        wake();
      },
      () => {
        backs++;
        wake();
      },
    );
    await first;
    const back = next();
    await postgres.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    );
    await back;
    const notified = next();
    await postgres.query("SELECT pg_notify('channel', 'a message')");
    await notified;
    expect({ heard, backs }).toEqual({ heard: ['a message'], backs: 2 });
  });

  it('that refuses or stays down is reported without user name or password', async () => {
    const url = await server.database();
    const wrong = await open(url.replace(server.password, 'canary-wrong'));
    const refusal = await wrong.query('SELECT 1').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(PostgresRefused);
    const plain = await open(`${url}?sslmode=require`);
    await expect(plain.query('SELECT 1')).rejects.toThrow(/refused: The server does not support SSL/);
    const nowhere = await open('postgres://me:canary-secret@127.0.0.1:1/db', 100);
    const away = await nowhere.query('SELECT 1').catch((error: unknown) => error);
    expect(away).toBeInstanceOf(PostgresAway);
    expect(`${refusal} ${away}`).not.toContain('canary');
  });

  it('is encrypted and verified according to its sslmode, as in libpq', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'searchflow-tls-'));
    const file = (name: string, text: string) => {
      writeFileSync(join(dir, name), text, { mode: 0o600 });
      return join(dir, name);
    };
    const [own, other] = [file('own.pem', localhost.certificate), file('other.pem', certificate)];
    const key = file('key.pem', localhost.privateKey);
    // If this process is root, the server runs as another user.
    const { uid, gid } = statSync(server.dataDir);
    for (const path of [dir, own, other, key]) chownSync(path, uid, gid);
    const admin = await open(server.urlOf('postgres'));
    for (const [name, value] of Object.entries({ ssl_cert_file: own, ssl_key_file: key, ssl: 'on' }))
      await admin.query(`ALTER SYSTEM SET ${name} = '${value}'`, [], { isCall: true });
    await admin.query('SELECT pg_reload_conf()');
    const database = await server.database();
    const byName = database.replace('127.0.0.1', 'localhost');
    const isEncrypted = async (url: string) => {
      const postgres = await open(url);
      const rows = await postgres.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      return rows[0]?.ssl;
    };
    // New settings apply to new connections only some time after the reload.
    while (!(await isEncrypted(`${database}?sslmode=require`).catch(() => false)))
      await admin.query('SELECT pg_sleep(0.05)');
    try {
      expect(await isEncrypted(database)).toBe(false);
      expect(await isEncrypted(`${database}?sslmode=disable`)).toBe(false);
      for (const mode of ['require', `require&sslrootcert=${own}`, `verify-ca&sslrootcert=${own}`])
        expect(await isEncrypted(`${database}?sslmode=${mode}`)).toBe(true);
      expect(await isEncrypted(`${byName}?sslmode=verify-full&sslrootcert=${own}`)).toBe(true);
      for (const mode of [
        ...[`require&sslrootcert=${other}`, `verify-ca&sslrootcert=${other}`, `verify-full&sslrootcert=${other}`],
        ...['verify-full', `require&sslrootcert=${join(dir, 'absent.pem')}`],
      ])
        await expect(isEncrypted(`${byName}?sslmode=${mode}`)).rejects.toBeInstanceOf(PostgresRefused);
      const otherName = isEncrypted(`${database}?sslmode=verify-full&sslrootcert=${own}`);
      await expect(otherName).rejects.toBeInstanceOf(PostgresRefused);
    } finally {
      await admin.query('ALTER SYSTEM RESET ALL', [], { isCall: true });
      await admin.query('SELECT pg_reload_conf()');
      rmSync(dir, { recursive: true });
    }
  });

  it('on another host gets no password in plain text', async () => {
    await expect(open('postgres://me:canary@db.internal/etl')).rejects.toThrow(
      /db\.internal:5432\/etl is on another host .*sslmode=verify-full/,
    );
  });

  it('does not repeat a wrong statement', async () => {
    const postgres = await open(await server.database());
    await expect(postgres.query('SELEC 1')).rejects.toThrow('syntax error');
  });
});

it('the PostgreSQL for trying a store has a password of its own, in a file that only its user may read', async () => {
  const script = fileURLToPath(new URL('../../../scripts/postgres.mjs', import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  let said = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    said += text;
    if (/SOURCE_URL=.*\n/.test(said)) break;
  }
  const setting = (name: string) => new RegExp(`^export ${name}=(\\S+)$`, 'm').exec(said)?.[1] ?? '';
  const file = setting('PGPASSFILE');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const password = readFileSync(file, 'utf8').trim().split(':').at(-1) ?? '';
  expect(password.length).toBeGreaterThanOrEqual(32);
  expect(said).not.toContain(password);
  for (const name of ['SEARCHFLOW_STORE', 'SEARCHFLOW_WAREHOUSE_URL', 'SEARCHFLOW_SOURCE_URL']) {
    const postgres = await open(setting(name).replace('searchflow@', `searchflow:${password}@`));
    expect(await postgres.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  }
  child.kill('SIGINT');
  await ended;
  expect(existsSync(file)).toBe(false);
});
