// unshare --uts sh -c 'hostname recorder && node scripts/record-stores.mjs duckdb' (or `postgres`): records what this version writes, by
// its own command on the sandbox, into test/fixtures/stores/<version>-<name>.tar.gz. SEARCHFLOW_RECORDED names another tree, whose build
// is recorded instead. `postgres` needs TEST_POSTGRES_URL and a `pg_dump` that can read that server.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { inRoot } from './root.mjs';

const [name] = process.argv.slice(2);
const tree = resolve(process.env.SEARCHFLOW_RECORDED ?? inRoot('.'));
const { version } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8'));
const target = inRoot('test', 'fixtures', 'stores', `${version}-${name}.tar.gz`);
/** The tests replace this path by one of the same length: the Temporal server's database keeps paths with their lengths. */
const dir = '/tmp/searchflow-upgrade-000000';
const state = join(dir, '.searchflow');
/** Files of processes: another process does not use them. Only the paused job of `duckdb` needs the Temporal server's database. */
const notKept = [
  ...['sandbox.json', 'sandbox.lock'].map((file) => `sandbox/${file}`),
  ...['server.json', 'server.lock', 'temporal.log', 'temporal.db.lock', 'watcher.lock', 'users'],
  ...['worker.lock', 'worker.log', 'scratch', 'journal/reserve', 'owners/claims.lock', 'owners/allowed.lock'],
  ...(name === 'duckdb' ? [] : ['temporal.db']),
];
const databases = ['upgrade_store', 'upgrade_warehouse'];

if (name !== 'duckdb' && name !== 'postgres') throw new Error('Name the store to record: duckdb or postgres.');
if (hostname() !== 'recorder')
  throw new Error(`The recording would name this machine (${hostname()}). Call it recorder.`);
if (existsSync(target)) throw new Error(`${target} is there already. To record it again, remove it.`);

const env = { PATH: process.env.PATH, HOME: dir, XDG_STATE_HOME: join(dir, 'user') };
mkdirSync(dir);
try {
  if (name === 'postgres') {
    await withServer(makeDatabases);
    useDatabases();
  }
  await record();
  if (name === 'postgres') {
    dumpDatabases();
    await withServer(dropDatabases);
  }
  for (const file of [...notKept.map((one) => join(state, one)), join(dir, 'user')])
    rmSync(file, { recursive: true, force: true });
  withoutTree(join(state, 'temporal.db'));
  mkdirSync(dirname(target), { recursive: true });
  const tar = execFileSync('tar', ['--owner=0', '--group=0', '--sort=name', '-c', '-C', dir, '.'], { maxBuffer: 1e9 });
  writeFileSync(target, gzipSync(tar, { level: 9 }));
} finally {
  rmSync(dir, { recursive: true, force: true });
}

/** Records a job that is done, one that its command stopped, one that is paused, and agent rows and an event walk that were stopped. */
async function record() {
  writeRows('done.csv', 30, 'no URL,');
  writeRows('half.csv', 60);
  writeRows('paused.csv', 40);
  writeRows('agents.csv', 14);
  const schema = { type: 'object', properties: { owner: { type: 'string' } }, required: ['owner'] };
  writeFileSync(join(dir, 'schema.json'), JSON.stringify(schema));
  const into = name === 'duckdb' ? ['--into', 'out/warehouse.duckdb'] : [];
  const rows = (job, ...more) => ['enrich', `${job}.csv`, '--job', job, '--url-column', 'url', ...into, ...more];
  await run(rows('done', '--csv', 'out/done.csv'));
  await run(rows('half', '--batch', '2'), ({ units }) => units >= 12);
  if (name === 'duckdb') await run(rows('paused', '--batch', '2', '--max-cost', '0.012'));
  const agents = ['agent', 'rows', 'agents.csv', '--job', 'agents', '--query', 'Find the owner of {{name}}'];
  await run([...agents, '--schema', 'schema.json', '--effort', 'low', ...into], ({ ended }) => ended >= 4);
  await run(['events', 'sync', ...into], ({ pages }) => pages >= 15);
  writeFileSync(
    join(dir, 'recorded.json'),
    JSON.stringify(
      {
        commit: execFileSync('git', ['-C', tree, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim(),
        jobs: JSON.parse(await run(['jobs', '--json'])),
        usage: JSON.parse(await run(['usage', '--by', 'job', '--json'])),
        events: JSON.parse(await run(['events', 'status', '--json', ...into])),
      },
      null,
      2,
    ),
  );
  await serverEnds();
}

function writeRows(file, count, ...more) {
  const stem = file.replace('.csv', '');
  const rows = Array.from({ length: count }, (_, row) => `${stem} ${row},https://${stem}-${row}.example/about`);
  writeFileSync(join(dir, file), `${['name,url', ...rows, ...more].join('\n')}\n`);
}

/** Runs a command, and sends it SIGINT once the sandbox has done `enough`. Returns stdout. */
async function run(args, enough = () => false) {
  const options = { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] };
  const child = spawn(process.execPath, [join(tree, 'dist', 'cli', 'main.js'), ...args], options);
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const ended = once(child, 'close');
  let before = null;
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const now = await sold();
    before ??= now;
    if (now && enough({ ...now, units: now.units - before.units })) {
      child.kill('SIGINT');
      break;
    }
    await delay(20);
  }
  const [code] = await ended;
  process.stderr.write(`${args.join(' ')}: ${code}\n`);
  return out;
}

/**
 * Counts the units that the sandbox has sold, the agent runs that have ended, and the pages of events that were read; null while no sandbox
 * runs.
 */
async function sold() {
  try {
    const { url } = JSON.parse(readFileSync(join(state, 'sandbox', 'sandbox.json'), 'utf8'));
    const get = async (path) => (await fetch(`${url}/__sandbox/${path}`)).json();
    const [bill, log, now] = [await get('bill'), await get('log'), await get('state')];
    const pages = log.filter(({ path }) => path.endsWith('/events')).length;
    return { units: Object.keys(bill.keys).length, pages, ended: now.agentRuns.byStatus.completed ?? 0 };
  } catch {
    return null;
  }
}

/** Replaces the path of the tree, which stack traces name, by one of the same length. */
function withoutTree(file) {
  if (!existsSync(file)) return;
  const filler = '/recorded'.padEnd(tree.length, '-').slice(0, tree.length);
  writeFileSync(file, readFileSync(file, 'latin1').replaceAll(tree, filler), 'latin1');
}

async function serverEnds() {
  const record = join(state, 'server.json');
  if (!existsSync(record)) return;
  const { pid } = JSON.parse(readFileSync(record, 'utf8'));
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await delay(50);
  }
}

/** Runs statements on the server of TEST_POSTGRES_URL. */
async function withServer(work) {
  const url = process.env.TEST_POSTGRES_URL;
  if (!url) throw new Error('Set TEST_POSTGRES_URL.');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function dropDatabases(client) {
  for (const database of databases) await client.query(`DROP DATABASE IF EXISTS ${database}`);
}

async function makeDatabases(client) {
  await dropDatabases(client);
  for (const database of databases) await client.query(`CREATE DATABASE ${database}`);
}

/** Store and warehouse of the commands. */
function useDatabases() {
  const [store, warehouse] = databases.map(addressOf);
  // The address has a parameter, because parameters are no part of a job's id.
  Object.assign(env, { SEARCHFLOW_STORE: store, SEARCHFLOW_WAREHOUSE_URL: `${warehouse}?application_name=recorder` });
}

function addressOf(database) {
  return Object.assign(new URL(process.env.TEST_POSTGRES_URL), { pathname: database }).href;
}

/** Writes the databases as SQL that any client can run, with another address in place of the server's. */
function dumpDatabases() {
  const { host, hostname: server, port } = new URL(process.env.TEST_POSTGRES_URL);
  const withoutServer = (text) => text.replaceAll(port ? host : `${server}:5432`, 'database.example:5432');
  for (const database of databases) {
    // Without compression methods, because another server may lack them.
    const args = ['--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges', '--no-toast-compression'];
    const sql = execFileSync('pg_dump', [...args, '--dbname', addressOf(database)], {
      encoding: 'utf8',
      maxBuffer: 1e9,
    });
    // Lines that begin with a backslash are commands of psql.
    writeFileSync(join(dir, `${database}.sql`), withoutServer(sql).replace(/^\\.*\n/gm, ''));
  }
  const recorded = join(dir, 'recorded.json');
  writeFileSync(recorded, withoutServer(readFileSync(recorded, 'utf8')));
}
