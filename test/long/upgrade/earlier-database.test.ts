import pg from 'pg';
import { expect, it } from 'vitest';
import { sharedPostgres } from '../../support/postgres.js';
import { RecordedFolder, storesOf } from '../../support/upgrade/recorded.js';

/** A recorded folder whose databases were put on the run's server, and a client of its warehouse. */
async function open(store: string) {
  const folder = new RecordedFolder(store);
  const postgres = sharedPostgres();
  const addresses = await Promise.all(['store', 'warehouse'].map((name) => postgres.database(name)));
  const [storeUrl, warehouse] = addresses as [string, string];
  const { host, pathname } = new URL(warehouse);
  for (const [database, address] of [
    ['upgrade_store', storeUrl],
    ['upgrade_warehouse', warehouse],
  ] as const)
    await query(address, folder.sql(database, host, pathname.slice(1)));
  folder.env = { ...folder.env, SEARCHFLOW_STORE: storeUrl, SEARCHFLOW_WAREHOUSE_URL: warehouse };
  return { folder, query: (sql: string) => query(warehouse, `SET search_path = searchflow; ${sql}`) };
}

async function query(address: string, sql: string) {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    const result = (await client.query(sql)) as unknown as { rows: unknown[] } | { rows: unknown[] }[];
    return (Array.isArray(result) ? result.at(-1) : result)?.rows;
  } finally {
    await client.end();
  }
}

it.each(storesOf('postgres'))(
  'fault 30: the databases %s of an earlier version continue: the same commands end its jobs and its walk, and buy nothing again',
  async (store) => {
    const { folder, query } = await open(store);
    const { recorded } = folder;
    const before = await folder.state();
    for (const { job, rows, phase, dollars } of recorded.jobs.filter((line) => line.phase !== null))
      expect(before.jobs).toContainEqual(expect.objectContaining({ job, rows, phase, dollars }));
    expect(before.usage).toEqual(recorded.usage);

    const question = ['--query', 'Find the owner of {{name}}', '--schema', 'schema.json', '--effort', 'low'];
    await folder.run('enrich', 'half.csv', '--job', 'half', '--url-column', 'url', '--batch', '2');
    await folder.run('agent', 'rows', 'agents.csv', '--job', 'agents', ...question);
    const walk = JSON.parse(await folder.run('events', 'sync', '--json'));

    const { jobs, usage } = await folder.state();
    // The commands have found their former jobs: the ids are unchanged.
    for (const { job, name } of recorded.jobs.filter((line) => line.phase !== null))
      expect(jobs.filter((line) => line.name === name)).toEqual([expect.objectContaining({ job, phase: 'done' })]);
    expect(folder.soldAgain()).toEqual([]);
    expect(usage.total.dollars).toBeCloseTo(folder.bill(), 6);
    expect(usage.lines).toContainEqual(recorded.usage.lines.find(({ job }) => job.startsWith('done-')));
    expect(
      await query(
        `SELECT split_part(job, '-', 1) AS name, count(*)::int AS rows, count(DISTINCT row_number)::int AS different
         FROM enriched_rows GROUP BY job ORDER BY name`,
      ),
    ).toEqual([
      { name: 'agents', rows: 14, different: 14 },
      { name: 'done', rows: 31, different: 31 },
      { name: 'half', rows: 60, different: 60 },
    ]);
    expect(await query('SELECT count(*)::int AS count, count(DISTINCT id)::int AS ids FROM events')).toEqual([
      { count: 5000, ids: 5000 },
    ]);
    expect(walk.added).toBe(5000 - recorded.events.events);
    // The walk has continued at its cursor, so it has read at most one page again.
    expect(walk.events).toBeLessThan(walk.added + 200);
  },
  240_000,
);
