import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { sent, startCluster } from '../../support/jobs/cluster.js';
import { filesWith } from '../../support/jobs/files-with.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const faults: Fault[] = [
  { when: { probability: 0.03, seed: 2 }, do: { kind: 'reset', moment: 'after' } },
  { when: { probability: 0.03, seed: 3 }, do: { kind: 'status', status: 500 } },
];

it('faults 24 and 39: after kills of a worker and the database every row is loaded once, no landed answer bought again', async () => {
  const rows = plainRows(240);
  const cluster = await startCluster(temporal, {
    rows,
    sandbox: { latencyMs: 150, faults },
    env: { SEARCHFLOW_DEAD_AFTER_SECONDS: '3', SEARCHFLOW_CONCURRENCY: '4' },
  });
  onTestFinished(() => cluster.close());
  const { folder, sandbox, postgres, warehouse } = cluster;
  const worker = cluster.start('b', ['worker']);
  const args = ['enrich', folder.input, '--into', warehouse, '--csv', folder.csv, '--batch', '10', '--json'];
  const command = cluster.start('a', args);

  await sent(cluster, 8, command);
  await postgres.kill();
  await postgres.start();
  await sent(cluster, 16, command);
  worker.child.kill('SIGKILL');
  cluster.start('c', ['worker']);
  expect([await command.ended, command.err()]).toEqual([0, expect.any(String)]);

  const loaded = await cluster.query<{ row_number: number; input: string[]; status: string; error_tag: string | null }>(
    'SELECT row_number::int, input, status, error_tag FROM enriched_rows ORDER BY row_number',
  );
  expect(loaded.map((row) => [row.row_number, row.input])).toEqual(rows.map((row, index) => [index + 1, row]));
  expect(loaded.every((row) => row.status === 'success' || row.error_tag === 'UNKNOWN_OUTCOME')).toBe(true);
  expect(folder.enriched().map(({ id }) => id)).toEqual(rows.map(([id]) => id));
  const unknown = await cluster.query<{ url: string; times: number }>(
    `SELECT url, count(*)::int AS times FROM (SELECT unnest(unit_keys) AS unit_key FROM unknown_outcomes) AS lost
       JOIN enriched_rows USING (unit_key) GROUP BY url`,
  );
  const listed = new Map(unknown.map(({ url, times }) => [url, times]));
  for (const [url, times] of Object.entries(boughtAgain(sandbox)))
    expect(listed.get(url) ?? 0, url).toBeGreaterThanOrEqual(times);

  // Any folder with the same store shows the job and its cost.
  const ask = async (...words: string[]) => {
    const asked = cluster.start('d', words);
    expect([await asked.ended, asked.err()]).toEqual([0, expect.any(String)]);
    return asked.out();
  };
  expect(await ask('jobs')).toMatch(
    /^rows-\w+ +done +240 +\$\S+ .*rows\.csv, postgres:\/\/127\.0\.0\.1:\d+\/warehouse$/m,
  );
  const usage = JSON.parse(await ask('usage', '--by', 'operation', '--json'));
  const { micros } = sandbox.bill({ keys: false });
  expect(usage.total.landedDollars * 1e6).toBeLessThanOrEqual(micros);
  expect((usage.total.landedDollars + usage.total.unknownDollars) * 1e6).toBeGreaterThanOrEqual(micros);
  expect(await ask('status', 'rows')).toContain('complete, 240 rows');
  await ask('export', 'rows', '--parquet', join(folder.dir, 'parquet'));
  expect(readdirSync(join(folder.dir, 'parquet'))).toEqual(['part-00000.parquet']);

  expect(cluster.said()).not.toContain(postgres.password);
  expect(filesWith(folder.dir, postgres.password)).toEqual([]);
  const job = /^rows-\w+/m.exec(await ask('jobs'))?.[0];
  const history = await temporal.client.workflow.getHandle(`searchflow-${job}`).fetchHistory();
  expect(Buffer.from(JSON.stringify(history)).includes(postgres.password)).toBe(false);
});
