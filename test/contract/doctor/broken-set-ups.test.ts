import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { examine } from '../../../src/worker/doctor/examine.js';
import type { Finding } from '../../../src/worker/doctor/finding.js';
import { type SharedPostgres, sharedPostgres } from '../../support/postgres.js';
import { fileNamespace, silence } from '../../support/temporal.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { certificates } from '../../support/worker/certificates.js';
import { startTemporalProxy } from '../../support/worker/temporal-proxy.js';

silence();
const KEY = 'canary-of-the-key';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'searchflow-doctor-test-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

type Env = Record<string, string>;

/** What the checks find with these variables, without secrets. */
async function find(checks: readonly string[], env: Env): Promise<readonly Finding[]> {
  const home = { HOME: join(dir, 'home'), XDG_STATE_HOME: join(dir, 'home', 'state') };
  const found = await examine({ cwd: dir, env: { ...home, ...env } }, checks);
  expect(JSON.stringify(found)).not.toContain('canary');
  return found;
}

/** The one problem or warning, in three texts: what is wrong, what to do, and the command for it. */
async function wrong(checks: readonly string[], env: Env) {
  const found = (await find(checks, env)).filter(({ level }) => level !== 'ok');
  expect(found).toHaveLength(1);
  const { check, level, text, mend, command } = found[0] as Finding;
  return { check, level, text, mend, command };
}

/** The answer of a stand-in for the service to each request. */
async function serviceThat(answers: (response: ServerResponse) => void): Promise<Env> {
  const server = createServer((_, response) => answers(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return {
    SEARCHFLOW_API_KEY: KEY,
    SEARCHFLOW_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

const refusing = (status: number, body: object) =>
  serviceThat((response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
  );
const closedPort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
};

describe('a broken set-up of the service', () => {
  it('wrong key', async () => {
    const sandbox = await startSandbox({ keys: ['another'] });
    onTestFinished(() => sandbox.close());
    expect(await wrong(['service'], { SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: sandbox.url })).toMatchObject({
      check: 'service',
      level: 'problem',
      text: expect.stringContaining('refuses the key: GET /agent/runs: 401'),
      mend: expect.stringMatching(/^Set SEARCHFLOW_API_KEY to a valid key/),
    });
    expect(sandbox.bill().requests).toBe(0);
  });

  it.each([
    [403, 'INSUFFICIENT_SCOPE', 'warning', /may not list agent runs/, /give the key the rights of their operations/],
    [403, 'TEAM_BLOCKED', 'problem', /may not list agent runs/, /give the key the rights of their operations/],
    [402, 'NO_MORE_CREDITS', 'problem', /no credits/, /^Add credits/],
    [407, 'PROXY', 'problem', /wants a login, and not the service/, /^Log in to the network or the proxy/],
    [404, 'NOT_FOUND', 'problem', /does not answer as the service/, /^Correct SEARCHFLOW_BASE_URL/],
    [429, 'RATE_LIMIT_EXCEEDED', 'warning', /rate limit is in use/, /again later/],
    [503, 'SERVICE_OVERLOADED', 'problem', /was not checked/, /again later/],
  ])('a service that answers %i %s', async (status, tag, level, text, mend) => {
    const env = await refusing(status, { requestId: 'r', error: 'refused', tag });
    expect(await wrong(['service'], env)).toMatchObject({
      level,
      text: expect.stringMatching(text),
      mend: expect.stringMatching(mend),
    });
  });

  it('a login page of the network in place of the service', async () => {
    const env = await serviceThat((response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Login'),
    );
    expect(await wrong(['service'], env)).toMatchObject({
      level: 'problem',
      text: expect.stringContaining('Another program answers'),
      mend: expect.stringContaining('Log in to the network'),
    });
  });

  it('a network that only a proxy may leave', async () => {
    const env = { SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: 'https://service.invalid' };
    const HTTPS_PROXY = `http://user:canary@127.0.0.1:${await closedPort()}`;
    expect((await wrong(['service'], { ...env, HTTPS_PROXY })).mend).toMatch(
      /^Requests go through HTTPS_PROXY\. Check the address of the proxy, or add service\.invalid/,
    );
    const direct = { ...env, SEARCHFLOW_BASE_URL: `http://127.0.0.1:${await closedPort()}`, HTTPS_PROXY };
    expect((await wrong(['service'], direct)).mend).toMatch(/^Check the network, DNS and firewall/);
    expect((await wrong(['service'], env)).mend).toMatch(/^Check the network, DNS and firewall/);
  });

  it.each([
    [20_000, 'warning', /\d+ s behind that of the service/],
    [-20_000, 'warning', /\d+ s ahead of that of the service/],
    [-7_200_000, 'problem', /\d+ s ahead of that of the service/],
  ])('a clock that differs by %i ms', async (ms, level, text) => {
    const env = await serviceThat((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', date: new Date(Date.now() + ms).toUTCString() })
        .end('{"data":[],"hasMore":false,"nextCursor":null}'),
    );
    expect(await wrong(['service'], env)).toEqual({
      ...{ check: 'clock', level, text: expect.stringMatching(text) },
      ...{ mend: 'Set the clock by NTP:', command: 'sudo timedatectl set-ntp true' },
    });
  });

  it('a good key and a good clock are no problem', async () => {
    const sandbox = await startSandbox({ keys: [KEY] });
    onTestFinished(() => sandbox.close());
    const env = { SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: sandbox.url };
    expect((await find(['service'], env)).map(({ check, level }) => [check, level])).toEqual([
      ['settings', 'ok'],
      ['service', 'ok'],
      ['clock', 'ok'],
    ]);
    expect(sandbox.bill().requests).toBe(0);
  });
});

describe('a broken set-up of Temporal', () => {
  it('unreachable server', async () => {
    const TEMPORAL_ADDRESS = `127.0.0.1:${await closedPort()}`;
    expect(await wrong(['temporal'], { TEMPORAL_ADDRESS })).toEqual({
      check: 'temporal',
      level: 'problem',
      text: `No server accepts connections at ${TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS): connection refused.`,
      mend: expect.stringMatching(/^Start the server, or correct TEMPORAL_ADDRESS/),
      command: 'temporal server start-dev',
    });
  });

  it('missing namespace', async () => {
    const address = inject('temporalAddress');
    const found = await wrong(['temporal'], { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'nowhere' });
    expect(found).toMatchObject({
      check: 'namespace',
      level: 'problem',
      text: `Temporal at ${address} has no namespace nowhere.`,
      command: `temporal operator namespace create --address ${address} --namespace nowhere --retention 168h`,
    });
  });

  it('a server without TLS where the settings ask for TLS', async () => {
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_TLS: 'true' };
    expect(await wrong(['temporal'], env)).toMatchObject({
      text: expect.stringContaining('does not speak TLS'),
      command: 'export TEMPORAL_TLS=false',
    });
  });

  it.each([
    [{}, {}, 'needs TLS', 'export TEMPORAL_TLS=true'],
    [{}, { TEMPORAL_TLS: 'true' }, 'is not trusted', 'export TEMPORAL_TLS_SERVER_CA_CERT_PATH=/path/authority.pem'],
    [{}, { TEMPORAL_TLS: 'true', ca: 'true', TEMPORAL_TLS_SERVER_NAME: 'other.example' }, 'for another name', null],
    [{ certificate: true }, { TEMPORAL_TLS: 'true', ca: 'true', name: 'true' }, 'client certificate', null],
    [{ apiKey: 'canary' }, { TEMPORAL_TLS: 'true', ca: 'true', name: 'true' }, 'refuses the login', null],
  ])(
    'a server with TLS that asks for %o, with the settings %o',
    async (asks, { ca, name, ...env }: Env, text, command) => {
      const proxy = await startTemporalProxy(inject('temporalAddress'), asks);
      onTestFinished(() => proxy.close());
      writeFileSync(join(dir, 'authority.crt'), certificates.authority.certificate);
      const found = await wrong(['temporal'], {
        ...{ ...env, TEMPORAL_ADDRESS: proxy.address },
        ...(ca ? { TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(dir, 'authority.crt') } : {}),
        ...(name ? { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' } : {}),
      });
      expect(found).toMatchObject({
        check: 'temporal',
        level: 'problem',
        text: expect.stringContaining(text),
        command,
      });
    },
  );

  it('no program of Temporal', async () => {
    const found = await wrong(['temporal'], {
      PATH: '/nowhere',
      HTTPS_PROXY: `http://127.0.0.1:${await closedPort()}`,
    });
    expect(found).toMatchObject({
      ...{ check: 'temporal-program', level: 'problem', text: expect.stringContaining('No program of Temporal') },
      mend: expect.stringMatching(/^Set TEMPORAL_ADDRESS .* on PATH, or set TEMPORAL_CLI/),
    });
    expect(await wrong(['temporal'], { TEMPORAL_CLI: '/bin/true' })).toMatchObject({
      text: expect.stringContaining("is not Temporal's program"),
      mend: expect.stringContaining('Correct TEMPORAL_CLI'),
    });
  });

  it('a reachable server with its namespace is no problem', async () => {
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: fileNamespace() };
    const found = await find(['temporal'], env);
    expect(found.map(({ check, level }) => [check, level])).toEqual(
      ['settings', 'temporal', 'namespace', 'task-queue'].map((check) => [check, 'ok']),
    );
  });
});

describe('a broken set-up of PostgreSQL', () => {
  let postgres: SharedPostgres;
  let url: string;
  beforeEach(async () => {
    postgres = sharedPostgres();
    url = await postgres.database('doctor');
  });
  const database = () => new URL(url).pathname.slice(1);
  const as = (user: string, password: string) => Object.assign(new URL(url), { username: user, password }).href;

  it('wrong password', async () => {
    expect(await wrong(['databases'], { SEARCHFLOW_STORE: as('postgres', 'canary') })).toMatchObject({
      check: 'store',
      level: 'problem',
      text: expect.stringContaining('password authentication failed'),
      mend: 'Correct the password in SEARCHFLOW_STORE, PGPASSWORD or ~/.pgpass.',
    });
  });

  it('missing database', async () => {
    const gone = Object.assign(new URL(url), { pathname: 'gone' }).href;
    const { hostname, port, username } = new URL(url);
    const command = `createdb -h ${hostname} -p ${port}${username === '' ? '' : ` -U ${username}`} gone`;
    expect(await wrong(['databases'], { SEARCHFLOW_WAREHOUSE_URL: gone })).toMatchObject({
      ...{ check: 'warehouse', mend: expect.stringContaining('Create the database'), command },
    });
  });

  it('missing right to create, and rights on the tables of a store', async () => {
    const user = `lim_${database()}`;
    await pgQuery(url, `CREATE ROLE ${user} LOGIN PASSWORD 'canary'`);
    await pgQuery(url, `REVOKE CREATE ON DATABASE ${database()} FROM PUBLIC`);
    const SEARCHFLOW_STORE = as(user, 'canary');
    expect(await wrong(['databases'], { SEARCHFLOW_STORE })).toMatchObject({
      ...{ check: 'store', level: 'problem', mend: 'Create it, as the owner of the database:' },
      command: `CREATE SCHEMA "searchflow_store" AUTHORIZATION "${user}";`,
    });
    await pgQuery(
      url,
      `CREATE SCHEMA searchflow_store; CREATE TABLE searchflow_store.units (key text); GRANT USAGE ON SCHEMA searchflow_store TO ${user}`,
    );
    expect((await wrong(['databases'], { SEARCHFLOW_STORE })).command).toBe(
      `GRANT CREATE ON SCHEMA searchflow_store TO "${user}";`,
    );
    expect(
      await pgQuery(
        url,
        "SELECT count(*)::int AS n FROM pg_class WHERE relnamespace = 'searchflow_store'::regnamespace",
      ),
    ).toEqual([[1]]);
  });

  it('read-only database', async () => {
    await pgQuery(url, `ALTER DATABASE ${database()} SET default_transaction_read_only = on`);
    expect(await wrong(['databases'], { SEARCHFLOW_STORE: url })).toMatchObject({
      text: expect.stringContaining('is read-only'),
      command: `ALTER DATABASE "${database()}" SET default_transaction_read_only = off;`,
    });
  });

  it('a server without TLS where the address asks for TLS', async () => {
    const { mend } = await wrong(['databases'], { SEARCHFLOW_STORE: `${url}?sslmode=verify-full` });
    expect(mend).toMatch(/^Turn on TLS on the server, or write sslmode=disable/);
  });

  it('an unreachable server beside a good one', async () => {
    const SEARCHFLOW_STORE = `postgres://127.0.0.1:${await closedPort()}/etl`;
    const found = await find(['databases'], {
      SEARCHFLOW_STORE,
      SEARCHFLOW_WAREHOUSE_URL: url,
      SEARCHFLOW_SOURCE_URL: url,
    });
    expect(found.filter(({ level }) => level !== 'ok').map(({ check, mend }) => [check, mend])).toEqual([
      ['store', 'Start the server, or correct the host and port in SEARCHFLOW_STORE.'],
    ]);
    expect(await pgQuery(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'searchflow%'")).toEqual([]);
  });

  it('a schema that a newer version has changed', async () => {
    await pgQuery(
      url,
      `CREATE SCHEMA searchflow_store; CREATE TABLE searchflow_store.searchflow_migrations (name text);
       INSERT INTO searchflow_store.searchflow_migrations VALUES ('0001-store'), ('0099-later')`,
    );
    expect(await wrong(['databases'], { SEARCHFLOW_STORE: url })).toMatchObject({
      ...{
        level: 'warning',
        text: expect.stringContaining('(0099-later)'),
        mend: expect.stringContaining('Update searchflow'),
      },
    });
    expect((await wrong(['databases'], { SEARCHFLOW_WAREHOUSE_URL: `${url}?schema=searchflow_store` })).mend).toBe(
      'Name another schema in SEARCHFLOW_WAREHOUSE_URL (?schema=name).',
    );
  });
});

describe('a broken set-up of this machine', () => {
  it('misspelt setting, and wrong settings', async () => {
    const env = { SEARCHFLOW_QSP: '5', SEARCHFLOW_QPS: 'many', SEARCHFLOW_STORE: 'mysql://u:canary@h/d' };
    const found = await find(['databases', 'service'], env);
    expect(found.map(({ check, level }) => [check, level])).toEqual([
      ...[
        ['settings', 'problem'],
        ['settings', 'problem'],
        ['settings', 'warning'],
        ['service', 'ok'],
        ['store', 'skipped'],
      ],
    ]);
    expect(found[2]?.text).toBe(
      'The variable SEARCHFLOW_QSP is unknown and has no effect; did you mean SEARCHFLOW_QPS?',
    );
  });

  it('missing folder of extensions, and a damaged extension', async () => {
    const folder = join(dir, 'extensions');
    const env = { SEARCHFLOW_DUCKDB_EXTENSIONS: folder };
    expect(await wrong(['extensions'], env)).toMatchObject({
      text: `The folder of DuckDB extensions ${folder} does not exist.`,
      mend: expect.stringMatching(/^Make it and put httpfs\.duckdb_extension .*SEARCHFLOW_DUCKDB_EXTENSIONS\.$/),
    });
    mkdirSync(folder);
    writeFileSync(join(folder, 'httpfs.duckdb_extension'), 'damaged');
    expect((await wrong(['extensions'], env)).mend).toMatch(/put httpfs\.duckdb_extension of DuckDB 1\./);
  });

  it('state folder of another user, or one that every user may write', async () => {
    const own = join(dir, 'state');
    mkdirSync(own);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) chownSync(own, 4242, 4242);
    const SEARCHFLOW_STATE_DIR = isRoot ? own : '/usr';
    expect(await wrong(['state-folder'], { SEARCHFLOW_STATE_DIR })).toMatchObject({
      ...{ level: 'problem', text: `The state folder ${SEARCHFLOW_STATE_DIR} belongs to another user.` },
      command: `sudo chown -R "$(id -un)" ${SEARCHFLOW_STATE_DIR}`,
    });
    const open = join(dir, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    expect((await wrong(['state-folder'], { SEARCHFLOW_STATE_DIR: open })).command).toBe(`chmod go-w ${open}`);
  });

  it('state folder of a newer version, with a damaged format, and below a file', async () => {
    writeFileSync(join(dir, 'format'), '2\n');
    const env = { SEARCHFLOW_STATE_DIR: dir };
    expect((await wrong(['state-folder'], env)).mend).toMatch(/^Update searchflow/);
    writeFileSync(join(dir, 'format'), 'garbage');
    expect(await wrong(['state-folder'], env)).toMatchObject({
      text: expect.stringMatching(/is damaged/),
      mend: expect.stringMatching(/^Restore it from a backup/),
    });
    writeFileSync(join(dir, 'file'), '');
    expect((await wrong(['state-folder'], { SEARCHFLOW_STATE_DIR: join(dir, 'file', 'state') })).mend).toMatch(
      /^Remove that file/,
    );
  });

  it('warehouse file of a newer version', async () => {
    mkdirSync(join(dir, 'out'));
    const file = join(dir, 'out', 'events.duckdb');
    copyFileSync(inject('emptyWarehouse'), file);
    expect((await find(['warehouse-files'], {})).at(-1)).toMatchObject({
      level: 'ok',
      text: expect.stringContaining('files of jobs: 1'),
    });
    const instance = await DuckDBInstance.create(file);
    const connection = await instance.connect();
    await connection.run("INSERT INTO searchflow_migrations VALUES ('0099-later', now()::TIMESTAMP)");
    connection.closeSync();
    instance.closeSync();
    expect(await wrong(['warehouse-files'], {})).toMatchObject({
      ...{
        level: 'problem',
        text: expect.stringContaining('(it has 0099-later)'),
        mend: expect.stringMatching(/^Update searchflow/),
      },
    });
  });

  it('a good machine has no problem, and the checks leave nothing in its folders', async () => {
    const found = await find(
      ['node', 'packages', 'native-parts', 'limits', 'state-folder', 'user-folder', 'output-folder', 'work'],
      {},
    );
    expect(found.filter(({ level }) => level === 'problem')).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
    mkdirSync(join(dir, '.searchflow'), { mode: 0o700 });
    await find(['state-folder'], {});
    expect(readdirSync(join(dir, '.searchflow'))).toEqual([]);
  });
});
