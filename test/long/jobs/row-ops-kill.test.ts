import { expect, it, onTestFinished } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { killAllOf, processesOf } from '../../support/jobs/processes.js';
import { timesBought } from '../../support/jobs/row-purchases.js';

/** Runs a command on a folder of rows and kills it, with all its processes, at a given moment. The sandbox continues. */
async function open(rows: number, options: Partial<SandboxOptions>, args: readonly string[]) {
  const folder = new Folder();
  folder.write(plainRows(rows));
  const sandbox = await startSandbox({ failureRate: 0, ...options });
  const env = {
    SEARCHFLOW_API_KEY: 'key-of-the-killed',
    SEARCHFLOW_BASE_URL: sandbox.url,
    SEARCHFLOW_STATE_DIR: folder.stateDir,
    XDG_STATE_HOME: folder.dir,
  };
  onTestFinished(async () => {
    killAllOf(folder.stateDir);
    await sandbox.close();
    folder.remove();
  });
  const [command, ...rest] = args as [string, ...string[]];
  const words = command.split(' ');
  const all = [...words, folder.input, ...rest, '--into', folder.into, '--csv', folder.csv, '--qps', '100', '--json'];
  const run = () => startCommand(all, { cwd: folder.dir, env });
  const paid = () => sandbox.log().filter(({ method, fault }) => method === 'POST' && fault === null);
  return {
    folder,
    sandbox,
    paid,
    async killedWhen(reached: () => boolean) {
      const running = run();
      await Promise.race([
        expect.poll(reached, { timeout: 30_000, interval: 5 }).toBe(true),
        running.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${running.err()}`))),
      ]);
      expect(processesOf(folder.stateDir).length).toBeGreaterThanOrEqual(3);
      killAllOf(folder.stateDir);
      await running.ended;
    },
    async toEnd() {
      const last = run();
      expect([await last.ended, last.err()]).toEqual([0, expect.any(String)]);
    },
  };
}

it.runIf(process.platform === 'linux')(
  'fault 24: searches for rows, killed in the middle, continue: each row once, no landed answer bought again',
  async () => {
    const { folder, sandbox, paid, killedWhen, toEnd } = await open(200, { latencyMs: 100 }, [
      ...['enrich', '--op', 'search', '--query', '{{name}} official site', '--num-results', '2'],
      ...['--concurrency', '8'],
    ]);
    await killedWhen(() => paid().length >= 60);
    await toEnd();
    expect(folder.enriched().map(({ id, status }) => [id, status])).toEqual(
      plainRows(200).map(([id]) => [id, 'success']),
    );
    expect(
      await folder.query('SELECT count(*) AS lines, count(DISTINCT row_number) AS rows FROM search_results'),
    ).toEqual([{ lines: '400', rows: '200' }]);
    const again = [...timesBought(sandbox)].filter(([, times]) => times > 1);
    const unknown = await folder.query<{ keys: string }>('SELECT unnest(unit_keys) AS keys FROM unknown_outcomes');
    // Only requests that were in flight were bought again, and all of them are listed.
    expect(again.length).toBeLessThanOrEqual(8);
    expect(unknown.length).toBeGreaterThanOrEqual(again.length);
  },
  120_000,
);

it.runIf(process.platform === 'linux')(
  'fault 22: agent runs for rows, killed while they are followed, are taken over: one run for each row',
  async () => {
    const { folder, sandbox, paid, killedWhen, toEnd } = await open(40, { agentRuns: { durationMs: 6000 } }, [
      ...['agent rows', '--query', 'Who leads {{name}}?', '--effort', 'low'],
    ]);
    await killedWhen(() => paid().length === 40 && paid().every(({ doneAt }) => doneAt !== null));
    await toEnd();
    expect(folder.enriched().map(({ id, status }) => [id, status])).toEqual(
      plainRows(40).map(([id]) => [id, 'success']),
    );
    expect([...timesBought(sandbox).values()]).toEqual(Array(40).fill(1));
    expect(await folder.query('SELECT count(DISTINCT run_id) AS runs FROM agent_outputs')).toEqual([{ runs: '40' }]);
    expect(await folder.query('SELECT count(*) AS unknown FROM unknown_outcomes')).toEqual([{ unknown: '0' }]);
  },
  120_000,
);
