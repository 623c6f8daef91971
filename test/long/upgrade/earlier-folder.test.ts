import { expect, it } from 'vitest';
import { RecordedFolder, storesOf } from '../../support/upgrade/recorded.js';

/** Number of rows of each job in the recording. */
const rows = { agents: 14, done: 31, half: 60, paused: 40 };

it.each(storesOf('duckdb'))(
  'fault 30: the folder %s of an earlier version continues: its paused job, its stopped jobs and its walk end, and nothing is bought again',
  async (store) => {
    const folder = new RecordedFolder(store);
    const { recorded } = folder;
    // The job's workflow is in the database of the Temporal server and has waited since the recording.
    await folder.run('resume', 'paused', '--max-cost', 'none');
    await folder.run('resume', 'half');
    await folder.run('resume', 'agents');
    const walk = JSON.parse(await folder.run('events', 'sync', '--into', 'out/warehouse.duckdb', '--json'));

    const { jobs, usage } = await folder.state();
    for (const { job, name } of recorded.jobs.filter((line) => line.rows !== null))
      expect(jobs).toContainEqual(expect.objectContaining({ job, name, phase: 'done' }));
    expect(folder.soldAgain()).toEqual([]);
    expect(usage.total.dollars).toBeCloseTo(folder.bill(), 6);
    expect(usage.lines).toContainEqual(recorded.usage.lines.find(({ job }) => job.startsWith('done-')));
    expect(
      await folder.query(
        `SELECT split_part(job, '-', 1) AS name, count(*)::INTEGER AS rows, count(DISTINCT row_number)::INTEGER AS different
         FROM enriched_rows GROUP BY job ORDER BY name`,
      ),
    ).toEqual(Object.entries(rows).map(([name, count]) => ({ name, rows: count, different: count })));
    expect(
      await folder.query('SELECT count(*)::INTEGER AS count, count(DISTINCT id)::INTEGER AS ids FROM events'),
    ).toEqual([{ count: 5000, ids: 5000 }]);
    expect(walk.added).toBe(5000 - recorded.events.events);
    // The walk has continued at its cursor, so it has read at most one page again.
    expect(walk.events).toBeLessThan(walk.added + 200);
  },
  240_000,
);
