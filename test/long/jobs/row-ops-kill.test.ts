import { expect, it } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { killAllOf, processesOf } from '../../support/jobs/processes.js';
import { timesBought } from '../../support/jobs/row-purchases.js';

/** Runs a command on a folder of rows and kills it, with all its processes, at a given moment. The sandbox continues. */
async function open(rows: number, options: Partial<SandboxOptions>, args: readonly string[]) {
  const sandbox = await startSandbox({ failureRate: 0, ...options });
  const { folder, start } = commandFolder(sandbox);
  folder.write(plainRows(rows));
  const [command, ...rest] = args as [string, ...string[]];
  const words = command.split(' ');
  const all = [...words, folder.input, ...rest, '--into', folder.into, '--csv', folder.csv, '--qps', '100', '--json'];
  const run = () => start(all);
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
