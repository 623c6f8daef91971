import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { killAllOf } from '../../support/jobs/processes.js';
import { sharedPostgres } from '../../support/postgres.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

// Each released version has a folder of `test/fixtures/baseline` with its state folder, warehouses and store, which this version opens and
// continues. RECORD=<version> makes such a folder: it needs `pg_dump`, and TEST_POSTGRES_URL with a server of the same version.
const baselines = fileURLToPath(new URL('../../fixtures/baseline/', import.meta.url));
const { RECORD: recorded } = process.env;
const versions = recorded === undefined ? readdirSync(baselines) : [recorded];

/** The rows of a job: an own id and URL each. */
const csvOf = (name: string, rows: number) =>
  `id,url\n${Array.from({ length: rows }, (_, row) => `${row},https://${name}-${row}.example/`).join('\n')}\n`;

const enrich = (name: string, ...more: string[]) => ['enrich', `${name}.csv`, '--batch', '2', '--yes', ...more];
const agents = ['agent', 'rows', 'agents.csv', '--query', 'Who leads {{url}}?', '--effort', 'low', '--yes'];
const events = ['events', 'sync', '--type', 'webset.search.created'];

/** Commands in a folder, on the sandbox of this folder, which keeps its bill. */
function commandsIn(dir: string, more: Readonly<Record<string, string>> = {}) {
  const state = join(dir, '.searchflow');
  const env = { SEARCHFLOW_STATE_DIR: state, XDG_STATE_HOME: join(dir, 'user'), ...more };
  onTestFinished(() => {
    killAllOf(state);
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    kill: () => killAllOf(state),
    start: (args: readonly string[]) => startCommand(args, { cwd: dir, env }),
    async run(...args: string[]) {
      const { code, out, err } = await runCommand([...args, '--json'], { cwd: dir, env });
      expect(code, err).toBe(0);
      return JSON.parse(out);
    },
  };
}
type Commands = ReturnType<typeof commandsIn>;

/** Jobs of each kind, one of them killed after half of its rows. */
async function record({ run, start, kill }: Commands, ...more: string[]) {
  await run(...enrich('done', ...more));
  await run(...agents, ...more);
  await run(...events, ...more);
  const killed = start(enrich('killed', '--qps', '3', ...more));
  await killed.says(/^[2-5]\d\/60 rows/m);
  kill();
  await killed.ended;
}

/** What a newer version must do with the work of the recorded one. */
async function continues({ run }: Commands, ...more: string[]) {
  expect((await run('jobs')).map((job: { name: string }) => job.name).sort()).toEqual(
    expect.arrayContaining(['done', 'killed']),
  );
  expect(await run(...enrich('done', ...more))).toMatchObject({ requests: 0, warehouse: { rows: 6 } });
  expect(await run(...agents, ...more)).toMatchObject({ requests: 0, warehouse: { rows: 2 } });
  expect(await run(...events, ...more)).toMatchObject({ phase: 'done', added: 0 });
  const killed = await run(...enrich('killed', '--qps', '50', ...more));
  expect(killed).toMatchObject({ warehouse: { rows: 60 } });
  expect(killed.unknownOutcomes).toBeLessThanOrEqual(4);
  return killed;
}

const tar = (...args: string[]) => expect(spawnSync('tar', args, { encoding: 'utf8' })).toMatchObject({ status: 0 });

describe.runIf(process.platform === 'linux').each(versions)('version %s', (version) => {
  const place = join(baselines, version);
  // Records name files by their whole path, so the folder has the same place on each machine.
  const dir = `/tmp/searchflow-${version}`;
  const inFolder = (env?: Readonly<Record<string, string>>) => {
    mkdirSync(dir);
    for (const [name, rows] of Object.entries({ done: 6, killed: 60, agents: 2 }))
      writeFileSync(join(dir, `${name}.csv`), csvOf(name, rows));
    return commandsIn(dir, env);
  };

  it('left a state folder and DuckDB files that are opened and continued', { timeout: 240_000 }, async () => {
    const archive = join(place, 'folder.tar.gz');
    const commands = inFolder();
    if (recorded) {
      await record(commands);
      mkdirSync(place, { recursive: true });
      tar('-C', dir, '--exclude', '*.log', '--exclude', 'allowed.json', '--exclude', 'reserve', '-czf', archive, '.');
    } else tar('-C', dir, '-xzf', archive);
    const killed = await continues(commands);
    // Each page has the same price. A page that was bought twice would cost the same again.
    expect(killed.totalCostMicros).toBe(killed.warehouse.success * 1000);
    const rows = await readDuckDb(
      join(dir, 'out/killed.duckdb'),
      'SELECT count(DISTINCT id)::INTEGER AS n FROM killed',
    );
    expect(rows).toEqual([{ n: 60 }]);
  });

  it('left a store and a warehouse in PostgreSQL that are opened and continued', { timeout: 240_000 }, async () => {
    const dump = join(place, 'postgres.sql.gz');
    const url = await sharedPostgres().database();
    const commands = inFolder({ SEARCHFLOW_STORE: url });
    const into = ['--into', url];
    if (recorded) {
      await record(commands, ...into);
      const { stdout } = spawnSync('pg_dump', ['--inserts', '--no-owner', '--no-toast-compression', url], {
        encoding: 'utf8',
        maxBuffer: 1e9,
      });
      writeFileSync(dump, gzipSync(stdout.replace(/^\\.*$/gm, ''), { level: 9 }));
    } else {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(gunzipSync(readFileSync(dump)).toString()).finally(() => client.end());
    }
    const killed = await continues(commands, ...into);
    // The database has another address here, so this is another job. It takes the answers that the recorded job has bought.
    expect(killed.totalCostMicros).toBeLessThan(40_000);
  });
});
