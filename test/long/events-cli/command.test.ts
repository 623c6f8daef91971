import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { runCommand } from '../../support/cli/command.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const from = '2025-01-01T00:00:00.000Z';
const to = '2025-02-01T00:00:00.000Z';
const range = ['--from', '2025-01-01', '--until', '2025-01-31'];

/** A service with this number of events, and the command in a folder of its own. */
async function open(count: number, more: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({ events: { count, from, to, ...more.events }, ...more });
  const { folder, env, start } = commandFolder(sandbox);
  const file = join(folder.dir, 'out', 'events.duckdb');
  const run = (...args: string[]) => runCommand(args, { cwd: folder.dir, env });
  return {
    sandbox,
    run,
    start: (...args: string[]) => start(args),
    json: async (...args: string[]) => {
      const { out, err, code } = await run(...args, '--json');
      return { code, err, data: out === '' ? null : JSON.parse(out) };
    },
    /** Rows of a statement; no command may use the file meanwhile. */
    sql: (statement: string) => runInDuckDb(file, statement),
  };
}

/** Number of events in the warehouse, and number of distinct ids. */
const census = 'SELECT count(*)::INTEGER AS n, count(DISTINCT id)::INTEGER AS ids FROM events';

it('the command syncs, shows its status, and a verification finds and repairs events that were changed by hand', async () => {
  const { run, json, sql } = await open(2000);
  const synced = await json('events', 'sync', '--qps', '500');
  expect([synced.code, synced.err]).toEqual([
    0,
    expect.stringMatching(/events-sync-\w{6} started: webset events of the real/),
  ]);
  expect(synced.data).toMatchObject({ kind: 'events', stream: 'sync', phase: 'done', events: 2000, added: 2000 });
  const shown = await json('events', 'status');
  expect(shown.data).toMatchObject({
    ...{ known: true, running: [], events: 2000 },
    streams: [{ stream: 'sync', watermark: synced.data.watermark, windowsLeft: 0, share: 1 }],
  });
  expect(shown.data.streams[0].completedSecondsAgo).toBeLessThan(600);
  expect(shown.data.types.every(({ known }: { known: boolean }) => known)).toBe(true);

  await sql("DELETE FROM events WHERE hash(id) % 10 = 0 AND id <> 'made-up'");
  await sql(`UPDATE events SET data = '{}' WHERE hash(id) % 10 = 1`);
  await sql(`INSERT INTO events SELECT * REPLACE ('made-up' AS id, 'webset.idle' AS type) FROM events LIMIT 1`);
  const [lost] = (await sql(`SELECT ${2000 + 1} - count(*)::INTEGER AS missing,
    count(CASE WHEN data = '{}' AND id <> 'made-up' THEN 1 END)::INTEGER AS changed FROM events`)) as [object];
  const verified = await json('events', 'verify', ...range, '--qps', '500');
  expect(verified.data?.verified).toMatchObject({ ...lost, gone: 1 });
  expect(verified.code).toBe(1);
  await sql("DELETE FROM events WHERE id = 'made-up'");
  expect(await sql(census)).toEqual([{ n: 2000, ids: 2000 }]);
  const scheduled = await run('events', 'sync', '--every', '15m', '--type', 'webset.merged');
  expect([scheduled.code, scheduled.err]).toEqual([
    0,
    expect.stringMatching(/Unknown event type: webset\.merged[\s\S]*Schedule events-sync-\w{6} created: every 15m/),
  ]);
  const strict = await run('events', 'verify', ...range, '--strict', '--qps', '500');
  expect([strict.code, strict.err]).toEqual([0, expect.stringContaining('same contents')]);
});
