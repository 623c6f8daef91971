import { join } from 'node:path';
import { describe, expect, inject, it, type TestContext, vi } from 'vitest';
import { type ServiceOptions, startService } from '../../service/service.mjs';
import type { Running } from '../../support/cli/command.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { type Folder, type InputRow, plainRows } from '../../support/jobs/folder.js';
import { killAllOf } from '../../support/jobs/processes.js';
import { fileNamespace } from '../../support/temporal.js';
import { isLong } from '../../support/tier.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

// The tests use real processes, and the machine may be busy.
vi.setConfig({ testTimeout: 240_000 });

/** A strict service on the run's Temporal server, and the command in a folder of its own. */
async function open({ onTestFinished }: TestContext, options: ServiceOptions) {
  const service = await startService(options);
  const temporal = { address: inject('temporalAddress'), namespace: fileNamespace() };
  const { folder, start } = commandFolder(service, { key: service.key, temporal, atEnd: onTestFinished });
  return {
    service,
    folder,
    start,
    /** Runs a command that is killed as soon as `reached` resolves, then the same command to its end; returns its output. */
    async killedOnce(args: readonly string[], reached: () => boolean): Promise<string> {
      const first = start(args);
      await until(reached, first);
      killAllOf(folder.stateDir);
      await first.ended;
      const second = start(args);
      expect([await second.ended, second.err()]).toEqual([0, expect.any(String)]);
      return second.out();
    },
    query: (file: string, sql: string) => readDuckDb(join(folder.dir, file), sql),
  };
}

/** The command line of a job with the rows of this folder. */
function enrich({ input, into, csv }: Folder): string[] {
  const flags = ['--batch', '3', '--concurrency', '2', '--qps', '50', '--json'];
  return ['enrich', input, '--into', into, '--csv', csv, ...flags];
}

async function until(reached: () => boolean, running: Running): Promise<void> {
  await Promise.race([
    vi.waitUntil(reached, { timeout: 60_000, interval: 5 }),
    running.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${running.err()}`))),
  ]);
}

const [quick, long] = [it.skipIf(isLong), it.runIf(isLong)];

// Each test has a service and a folder of its own and mostly waits for processes, so the tests run in parallel.
describe
  .runIf(process.platform === 'linux')
  .concurrent('fault 24: killed in the middle, the same command completes', () => {
    quick('a row job: each row once, and nothing bought again except listed unknown outcomes', async (context) => {
      const { service, folder, killedOnce } = await open(context, { latencyMs: 40 });
      folder.write(plainRows(60));
      const calls = () => service.log.filter(({ kind }) => kind === 'contents').length;
      await killedOnce(enrich(folder), () => calls() >= 8);
      expect(folder.outcomes()).toEqual(plainRows(60).map((row) => [row, 'success']));
      const unknown = await folder.query<{ key: string }>('SELECT unnest(unit_keys) AS key FROM unknown_outcomes');
      const again = service.purchases.chargedAgain();
      expect(again.size).toBeLessThanOrEqual(unknown.length);
      expect([...again.values()].reduce((sum, times) => sum + times, 0)).toBeLessThanOrEqual(2 * 3);
    });

    long('a row job in its second pass: each failed row is bought once more, and loaded', async (context) => {
      const { service, folder, killedOnce } = await open(context, { latencyMs: 40 });
      const slow = plainRows(60).map(([id, name]): InputRow => [id, name, `https://slow-${id}.example/`]);
      folder.write(slow);
      const calls = () => service.log.filter(({ kind }) => kind === 'contents').length;
      // Each of the 20 requests of the first pass fails, because all its pages are slow.
      const out = await killedOnce(enrich(folder), () => calls() >= 26);
      expect(folder.outcomes()).toEqual(slow.map((row) => [row, 'success']));
      expect(JSON.parse(out)).toMatchObject({ retried: { units: 60, failedAgain: 0 }, warehouse: { success: 60 } });
      const unknown = await folder.query<{ key: string }>('SELECT unnest(unit_keys) AS key FROM unknown_outcomes');
      expect(service.purchases.chargedAgain().size).toBeLessThanOrEqual(unknown.length);
    });

    long('a walk of events: each event once', async (context) => {
      const events = { count: 3000, arrivingPerSecond: 0, late: 0 };
      const { service, killedOnce, query } = await open(context, { latencyMs: 60, events });
      const pages = () => service.log.filter(({ noun, status }) => noun === 'events' && status === 200).length;
      await killedOnce(['events', 'sync', '--parallel', '1', '--qps', '200', '--json'], () => pages() >= 4);
      const counted = await query(
        'out/events.duckdb',
        'SELECT CAST(count(*) AS INTEGER) AS n, CAST(count(DISTINCT id) AS INTEGER) AS ids FROM events',
      );
      expect(counted).toEqual([{ n: 3000, ids: 3000 }]);
    });

    long('an agent run: started once', async (context) => {
      const { service, killedOnce } = await open(context, { agents: { durationMs: { min: 600_000, max: 600_000 } } });
      const followed = () => [...service.agents.runs.values()].some(({ reads }) => reads > 0);
      const out = await killedOnce(
        ['agent', 'run', 'Who makes this?', '--effort', 'low', '--qps', '50', '--json'],
        () => {
          if (!followed()) return false;
          // The agent run ends while no process follows it.
          for (const run of service.agents.runs.values()) run.endsAt = 0;
          return true;
        },
      );
      expect(JSON.parse(out)).toMatchObject({ status: 'completed', runId: 'agent_run_000001' });
      expect(service.agents.starts).toHaveLength(1);
    });

    long('a monitor batch: each monitor is affected once, with one line in the audit', async (context) => {
      const { service, killedOnce, query } = await open(context, { latencyMs: 40, monitors: { count: 60 } });
      const active = [...service.monitors.records.values()].filter(({ status }) => status === 'active').length;
      const calls = () =>
        service.log.filter(({ path, body }) => path.endsWith('/batch') && !(body as { dry_run: boolean }).dry_run);
      const args = ['monitors', 'pause', '--status', 'active', '--limit', '7', '--qps', '100', '--yes', '--json'];
      const out = await killedOnce(args, () => calls().length >= 2);
      expect(JSON.parse(out)).toMatchObject({
        phase: 'done',
        affected: active,
        effect: { affected: active, missed: 0 },
      });
      const affected = calls().flatMap(({ ids }) => ids);
      expect([affected.length, new Set(affected).size]).toEqual([active, active]);
      const audit = await query(
        'out/monitors.duckdb',
        'SELECT CAST(count(*) AS INTEGER) AS n, CAST(count(DISTINCT monitor_id) AS INTEGER) AS ids FROM monitor_actions',
      );
      expect(audit).toEqual([{ n: active, ids: active }]);
    });
  });
