import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  migrate,
  openPostgres,
  type Postgres,
  PostgresAway,
  PostgresRefused,
  parseAddress,
} from '../../../src/postgres/index.js';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.mjs';

let server: PostgresServer;
const opened: Postgres[] = [];

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await Promise.all(opened.map((postgres) => postgres.close()));
  await server.stop();
});

async function open(url: string, patienceMs = 20_000): Promise<Postgres> {
  const postgres = await openPostgres(parseAddress(url, 'searchflow_store'), { applicationName: 'test', patienceMs });
  opened.push(postgres);
  return postgres;
}

describe('the address of a database', () => {
  it('is shown without user and password, and with a schema of its own', () => {
    const address = parseAddress(
      'postgres://me:se%40cret@db.example:6000/ware%20house?schema=Odd"name&sslmode=require',
      'x',
    );
    expect(address.shown).toBe('postgres://db.example:6000/ware%20house?schema=Odd%22name');
    expect(address.schema).toBe('Odd"name');
    expect(address.connectionString).toBe(
      'postgres://me:se%40cret@db.example:6000/ware%20house?sslmode=require&uselibpqcompat=true',
    );
  });

  it('is refused without quoting it', () => {
    for (const wrong of [
      'postgres://me:secret@host',
      'mysql://me:secret@host/db',
      'postgres://me:secret@ho st/db',
      'postgres://me:secret@h/db?sslmode=bogus',
      'postgres://me:secret@h/db?schema=pg_own',
      'postgres://me:secret@h/db?schema=a%24body%24b',
      'postgres://me:secret@h/db?sslmode=verify-ca',
    ]) {
      expect(() => parseAddress(wrong, 'x')).toThrowError(/^(?!.*secret)/);
    }
  });
});

describe('a database', () => {
  it('is migrated once, whoever asks at the same time, in a schema of any name', async () => {
    const url = `${await server.database()}?schema=${encodeURIComponent('od"d')}`;
    const all = await Promise.all(Array.from({ length: 4 }, () => open(url)));
    const migrations = [
      {
        name: '0001-a',
        sql: (schema: string) => `CREATE TABLE ${schema}.a (n int); INSERT INTO ${schema}.a VALUES (1)`,
      },
    ];
    await Promise.all(all.map((postgres) => migrate(postgres, migrations)));
    const more = [...migrations, { name: '0002-b', sql: (schema: string) => `INSERT INTO ${schema}.a VALUES (2)` }];
    await Promise.all(all.map((postgres) => migrate(postgres, more)));
    expect(await (all[0] as Postgres).query('SELECT n FROM "od""d".a ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('is waited for while it is away, and runs a transaction whole again', async () => {
    const postgres = await open(await server.database());
    await postgres.query('CREATE TABLE t (n int)');
    let runs = 0;
    await postgres.transaction(async (tx) => {
      await tx.query('INSERT INTO t VALUES (1)');
      if (runs++ === 0) await server.kill();
      if (runs === 1) void server.start();
      await tx.query('INSERT INTO t VALUES (2)');
    });
    expect(runs).toBe(2);
    expect(await postgres.query('SELECT n FROM t ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('is heard again after its connections were cut', async () => {
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
      'news',
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
    const told = next();
    await postgres.query("SELECT pg_notify('news', 'told')");
    await told;
    expect({ heard, backs }).toEqual({ heard: ['told'], backs: 2 });
  });

  it('that refuses or stays away is told without user name or password', async () => {
    const url = await server.database();
    const wrong = await open(url.replace(server.password, 'canary-wrong'));
    const refusal = await wrong.query('SELECT 1').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(PostgresRefused);
    const plain = await open(`${url}?sslmode=require`);
    await expect(plain.query('SELECT 1')).rejects.toThrow(/refuses: The server does not support SSL/);
    const nowhere = await open('postgres://me:canary-secret@127.0.0.1:1/db', 100);
    const away = await nowhere.query('SELECT 1').catch((error: unknown) => error);
    expect(away).toBeInstanceOf(PostgresAway);
    expect(`${refusal} ${away}`).not.toContain('canary');
  });

  it('does not repeat a statement that is wrong', async () => {
    const postgres = await open(await server.database());
    await expect(postgres.query('SELEC 1')).rejects.toThrow('syntax error');
  });
});
