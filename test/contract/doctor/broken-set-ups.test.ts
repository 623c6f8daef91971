import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import type { Finding } from '../../../src/worker/doctor/databases.js';
import { examine } from '../../../src/worker/doctor/examine.js';
import { closeAfterTest } from '../../support/after-test.js';
import { folderOfTest } from '../../support/files/folders.js';
import { type SharedPostgres, sharedPostgres } from '../../support/postgres.js';
import { fileNamespace, silence } from '../../support/temporal.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { certificates } from '../../support/worker/certificates.js';
import { startTemporalProxy } from '../../support/worker/temporal-proxy.js';

silence();
const KEY = 'canary-of-the-key';

let dir: string;
beforeEach(() => {
  dir = folderOfTest();
});

type Env = Record<string, string>;

/** What the checks find with these variables, without secrets. */
async function find(checks: readonly string[], env: Env): Promise<readonly Finding[]> {
  const home = { HOME: join(dir, 'home'), XDG_STATE_HOME: join(dir, 'home', 'state') };
  const found = await examine({ cwd: dir, env: { ...home, ...env } }, checks);
  expect(JSON.stringify(found)).not.toContain('canary');
  return found;
}

/** The one finding that asks for something. */
async function wrong(checks: readonly string[], env: Env) {
  const found = (await find(checks, env)).filter(({ mend }) => mend !== null);
  expect(found).toHaveLength(1);
  return found[0] as Finding;
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
    const sandbox = closeAfterTest(await startSandbox({ keys: ['another'] }));
    expect(await wrong(['service'], { SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: sandbox.url })).toMatchObject({
      check: 'service',
      ok: false,
      why: expect.stringContaining('GET /agent/runs: 401'),
      mend: expect.stringMatching(/^Set a valid key in `SEARCHFLOW_API_KEY`/),
    });
    expect(sandbox.bill().requests).toBe(0);
  });

  it.each([
    [403, 'INSUFFICIENT_SCOPE', true, /may not list agent runs/, /use another key/],
    [402, 'NO_MORE_CREDITS', false, /402/, /^Buy credits/],
    [407, 'PROXY', false, /wants a login, and not the service/, /^Log in to the network or the proxy/],
    [429, 'RATE_LIMIT_EXCEEDED', true, /was not checked/, /^Wait as long/],
    [503, 'SERVICE_OVERLOADED', false, /503/, /again later/],
  ])('a service that answers %i %s', async (status, tag, ok, why, mend) => {
    const env = await refusing(status, { requestId: 'r', error: 'refused', tag });
    const found = await wrong(['service'], env);
    expect(found).toMatchObject({ ok, why: expect.stringMatching(why), mend: expect.stringMatching(mend) });
  });

  it('a login page of the network in place of the service', async () => {
    const env = await serviceThat((response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Login'),
    );
    expect(await wrong(['service'], env)).toMatchObject({
      ok: false,
      why: expect.stringContaining('Another program answers'),
      mend: expect.stringContaining('Log in to the network'),
    });
  });

  it('no connection', async () => {
    const env = { SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: `http://127.0.0.1:${await closedPort()}` };
    const HTTPS_PROXY = `http://user:canary@127.0.0.1:${await closedPort()}`;
    const SEARCHFLOW_BASE_URL = 'https://service.invalid';
    expect((await wrong(['service'], { ...env, SEARCHFLOW_BASE_URL, HTTPS_PROXY })).mend).toMatch(
      /^Check HTTPS_PROXY, through which requests go, or add service\.invalid to NO_PROXY/,
    );
    expect((await wrong(['service'], { ...env, HTTPS_PROXY })).mend).toMatch(/^Check the network and the address/);
    expect((await wrong(['service'], env)).mend).toMatch(/^Check the network and the address/);
  });

  it.each([
    [20_000, true, /\d+ s behind that of the service/],
    [-20_000, true, /\d+ s ahead of that of the service/],
    [-7_200_000, false, /\d+ s ahead of that of the service/],
  ])('a clock that differs by %i ms', async (ms, ok, why) => {
    const env = await serviceThat((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', date: new Date(Date.now() + ms).toUTCString() })
        .end('{"data":[],"hasMore":false,"nextCursor":null}'),
    );
    expect(await wrong(['service'], env)).toEqual({
      ...{ check: 'clock', ok, why: expect.stringMatching(why) },
      mend: 'Set the clock by NTP:\n  sudo timedatectl set-ntp true',
    });
  });

  it('a good key, clock and rate are no problem', async () => {
    const sandbox = closeAfterTest(await startSandbox({ keys: [KEY] }));
    const env = { SEARCHFLOW_API_KEY: KEY, SEARCHFLOW_BASE_URL: sandbox.url, SEARCHFLOW_QPS: '7' };
    expect((await find(['service', 'rate'], env)).map(({ check, ok, mend }) => [check, ok, mend])).toEqual(
      ['settings', 'service', 'clock', 'rate'].map((check) => [check, true, null]),
    );
    expect((await find(['rate'], env)).at(-1)?.why).toBe('Rate limit: all 7/s.');
    expect(sandbox.bill().requests).toBe(0);
  });
});

describe('a broken set-up of Temporal', () => {
  it('unreachable server', async () => {
    const TEMPORAL_ADDRESS = `127.0.0.1:${await closedPort()}`;
    expect(await wrong(['temporal'], { TEMPORAL_ADDRESS })).toEqual({
      check: 'temporal',
      ok: false,
      why: `No server accepts connections at ${TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS): connection refused.`,
      mend: expect.stringMatching(/^Start the server, or correct TEMPORAL_ADDRESS/),
    });
  });

  it('missing namespace', async () => {
    const address = inject('temporalAddress');
    const found = await wrong(['temporal'], { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'nowhere' });
    expect(found).toMatchObject({
      check: 'namespace',
      ok: false,
      why: expect.stringContaining(`Temporal at ${address} has no namespace nowhere.`),
      mend: expect.stringContaining(`\n  temporal operator namespace create --address ${address} --namespace nowhere`),
    });
  });

  it('a server without TLS where the settings ask for TLS', async () => {
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_TLS: 'true' };
    expect(await wrong(['temporal'], env)).toMatchObject({
      why: expect.stringContaining('does not speak TLS'),
      mend: expect.stringContaining('export TEMPORAL_TLS=false'),
    });
  });

  it.each([
    [{}, {}, 'needs TLS', 'export TEMPORAL_TLS=true'],
    [{}, { TEMPORAL_TLS: 'true' }, 'is not trusted', 'TEMPORAL_TLS_SERVER_CA_CERT_PATH'],
    [{}, { TEMPORAL_TLS: 'true', ca: 'true', TEMPORAL_TLS_SERVER_NAME: 'other.example' }, 'another name', 'NAME'],
    [{ certificate: true }, { TEMPORAL_TLS: 'true', ca: 'true', name: 'true' }, '', 'Check `TEMPORAL_ADDRESS`'],
    [{ apiKey: 'canary' }, { TEMPORAL_TLS: 'true', ca: 'true', name: 'true' }, 'refuses the login', 'credentials'],
  ])('a server with TLS that asks for %o, with the settings %o', async (asks, { ca, name, ...env }: Env, why, mend) => {
    const proxy = closeAfterTest(await startTemporalProxy(inject('temporalAddress'), asks));
    writeFileSync(join(dir, 'authority.crt'), certificates.authority.certificate);
    const found = await wrong(['temporal'], {
      ...{ ...env, TEMPORAL_ADDRESS: proxy.address },
      ...(ca ? { TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(dir, 'authority.crt') } : {}),
      ...(name ? { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' } : {}),
    });
    expect(found).toMatchObject({
      ...{ check: 'temporal', ok: false, why: expect.stringContaining(why), mend: expect.stringContaining(mend) },
    });
  });

  it('no program of Temporal', async () => {
    expect(await wrong(['temporal'], { PATH: '/nowhere' })).toMatchObject({
      ...{ check: 'temporal-program', ok: true, why: expect.stringContaining('No Temporal server is installed') },
      mend: expect.stringMatching(/downloads it.*- set TEMPORAL_ADDRESS/s),
    });
    expect(await wrong(['temporal'], { TEMPORAL_CLI: '/bin/true' })).toMatchObject({
      ...{ ok: false, why: expect.stringContaining("TEMPORAL_CLI: /bin/true is not Temporal's program") },
    });
  });

  it('a reachable server with its namespace is no problem', async () => {
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: fileNamespace() };
    const found = await find(['temporal'], env);
    expect(found.map(({ check, ok, mend }) => [check, ok, mend])).toEqual(
      ['settings', 'temporal', 'namespace', 'task-queue'].map((check) => [check, true, null]),
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
      ok: false,
      why: expect.stringContaining('password authentication failed'),
      mend: expect.stringMatching(/^Correct user and password/),
    });
  });

  it('missing database', async () => {
    const gone = Object.assign(new URL(url), { pathname: 'gone' }).href;
    const { hostname, port, username } = new URL(url);
    const command = `createdb -h ${hostname} -p ${port}${username === '' ? '' : ` -U ${username}`} gone`;
    expect(await wrong(['databases'], { SEARCHFLOW_WAREHOUSE_URL: gone })).toMatchObject({
      ...{ check: 'warehouse', mend: expect.stringMatching(`^Create the database[^]*\n {2}${command}$`) },
    });
  });

  it('missing right to create, and rights on the tables of a store', async () => {
    const user = `lim_${database()}`;
    await pgQuery(url, `CREATE ROLE ${user} LOGIN PASSWORD 'canary'`);
    await pgQuery(url, `REVOKE CREATE ON DATABASE ${database()} FROM PUBLIC`);
    const SEARCHFLOW_STORE = as(user, 'canary');
    expect(await wrong(['databases'], { SEARCHFLOW_STORE })).toMatchObject({
      ...{ check: 'store', ok: false },
      mend: `As the owner of the database:\n  CREATE SCHEMA "searchflow_store" AUTHORIZATION "${user}";`,
    });
    await pgQuery(
      url,
      `CREATE SCHEMA searchflow_store; CREATE TABLE searchflow_store.units (key text); GRANT USAGE ON SCHEMA searchflow_store TO ${user}`,
    );
    expect((await wrong(['databases'], { SEARCHFLOW_STORE })).mend).toBe(
      `As the owner of the database:\n  GRANT CREATE ON SCHEMA searchflow_store TO "${user}";`,
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
      why: expect.stringContaining('is read-only'),
      mend: expect.stringContaining(`ALTER DATABASE "${database()}" SET default_transaction_read_only = off;`),
    });
  });

  it('an unreachable server beside a good one', async () => {
    const SEARCHFLOW_STORE = `postgres://127.0.0.1:${await closedPort()}/etl`;
    const found = await find(['databases'], {
      SEARCHFLOW_STORE,
      SEARCHFLOW_WAREHOUSE_URL: url,
      SEARCHFLOW_SOURCE_URL: url,
    });
    expect(found.filter(({ ok }) => !ok).map(({ check, mend }) => [check, mend])).toEqual([
      ['store', 'Start the server, or correct its address; running jobs wait and continue by themselves.'],
    ]);
    expect(await pgQuery(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'searchflow%'")).toEqual([]);
  });

  it('a schema that a newer version has changed', async () => {
    await pgQuery(
      url,
      `CREATE SCHEMA searchflow_store; CREATE TABLE searchflow_store.searchflow_migrations (name text);
       INSERT INTO searchflow_store.searchflow_migrations VALUES ('0.2.0-store'), ('0099-later')`,
    );
    expect(await wrong(['databases'], { SEARCHFLOW_STORE: url })).toMatchObject({
      ...{ ok: true, why: expect.stringContaining('(0099-later)'), mend: expect.stringContaining('Update searchflow') },
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
    expect(found.map(({ check, ok, mend }) => [check, ok, mend === null])).toEqual([
      ['settings', false, false],
      ['settings', false, false],
      ['settings', true, false],
      ['service', true, true],
    ]);
    expect(found[2]?.why).toBe('SEARCHFLOW_QSP is an unknown variable and has no effect; did you mean SEARCHFLOW_QPS?');
  });

  it('state folder of another user, or one that every user may write', async () => {
    const own = join(dir, 'state');
    mkdirSync(own);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) chownSync(own, 4242, 4242);
    const SEARCHFLOW_STATE_DIR = isRoot ? own : '/usr';
    expect(await wrong(['state-folder'], { SEARCHFLOW_STATE_DIR })).toMatchObject({
      ok: false,
      why: expect.stringContaining(`The state folder '${SEARCHFLOW_STATE_DIR}' belongs to another user.`),
      mend: `To make it yours:\n  sudo chown -R "$(id -un)" ${SEARCHFLOW_STATE_DIR}`,
    });
    const open = join(dir, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    expect((await wrong(['state-folder'], { SEARCHFLOW_STATE_DIR: open })).mend).toContain(`chmod go-w ${open}`);
  });

  it('state folder of a newer version, with a damaged format, and below a file', async () => {
    writeFileSync(join(dir, 'format'), '2\n');
    const env = { SEARCHFLOW_STATE_DIR: dir };
    expect((await wrong(['state-folder'], env)).why).toMatch(/Update searchflow/);
    writeFileSync(join(dir, 'format'), 'garbage');
    expect((await wrong(['state-folder'], env)).why).toMatch(/is damaged.*Restore it from a backup/s);
    writeFileSync(join(dir, 'file'), '');
    expect((await wrong(['state-folder'], { SEARCHFLOW_STATE_DIR: join(dir, 'file', 'state') })).why).toMatch(
      /remove that file/i,
    );
  });

  it('a good machine has no problem, and the checks leave nothing in its folders', async () => {
    const found = await find(['node', 'packages', 'native-parts', 'state-folder', 'disk'], {});
    expect(found.filter(({ ok }) => !ok)).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
    mkdirSync(join(dir, '.searchflow'), { mode: 0o700 });
    await find(['state-folder'], {});
    expect(readdirSync(join(dir, '.searchflow'))).toEqual([]);
  });
});
