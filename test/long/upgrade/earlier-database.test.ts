import { expect, it } from 'vitest';
import { RecordedFolder, restore, runSql, storesOf } from '../../support/upgrade/recorded.js';

async function open(store: string) {
  const folder = new RecordedFolder(store);
  const { store: storeUrl, warehouse } = await restore(folder);
  folder.env = { ...folder.env, SEARCHFLOW_STORE: storeUrl, SEARCHFLOW_WAREHOUSE_URL: warehouse };
  return { folder, query: (sql: string) => runSql(warehouse, `SET search_path = searchflow; ${sql}`) };
}

it.each(storesOf('postgres'))(
  'fault 30: the databases %s of an earlier version continue: its jobs and its walk end, and nothing is bought again',
  async (store) => {
    const { folder, query } = await open(store);
    const { recorded } = folder;
    const before = await folder.state();
    for (const { job, rows, phase, dollars } of recorded.jobs.filter((line) => line.phase !== null))
      expect(before.jobs).toContainEqual(expect.objectContaining({ job, rows, phase, dollars }));
    expect(before.usage).toEqual(recorded.usage);

    await folder.run('resume', 'half');
    await folder.run('resume', 'agents');
    const walk = JSON.parse(await folder.run('events', 'sync', '--json'));

    const { jobs, usage } = await folder.state();
    for (const { job, name } of recorded.jobs.filter((line) => line.rows !== null))
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
