import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Fault, startSandbox } from '../../../src/sandbox/index.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { filesWith } from '../../support/jobs/files-with.js';
import { plainRows } from '../../support/jobs/folder.js';
import { processesOf } from '../../support/jobs/processes.js';

const canary = 'canary-5e1f0a9d4c7b42d8';
/** The service repeats the key in its errors, which is the worst case. */
const repeated = JSON.stringify({
  requestId: 'r-1',
  error: `No such key: ${canary} (x-api-key)`,
  tag: 'INVALID_API_KEY',
});

const refused: Fault = {
  when: { nth: 3 },
  do: { kind: 'body', status: 401, body: repeated, contentType: 'application/json' },
};
const broken: Fault[] = [
  { when: { nth: 1 }, do: { kind: 'body', status: 500, body: repeated, contentType: 'application/json' } },
  { when: { nth: 2 }, do: { kind: 'reset', moment: 'before' } },
  { when: { nth: 3 }, do: { kind: 'reset', moment: 'after' } },
  { when: { nth: 4 }, do: { kind: 'truncate' } },
  { when: { nth: 5 }, do: { kind: 'body', body: `<html>${canary}</html>` } },
];

it.runIf(process.platform === 'linux')(
  'fault 55: the key is in no file, history, log, output or argument, even if the service repeats it',
  async () => {
    const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, faults: [refused], keys: [canary] });
    const { folder, start } = commandFolder(sandbox, { key: canary });
    folder.write(plainRows(100));
    const args = ['enrich', folder.input, '--into', folder.into, '--csv', folder.csv, '--batch', '10', '--qps', '100'];
    const run = async () => {
      const running = start([...args, '--concurrency', '2']);
      const code = await running.ended;
      return { code, said: running.out() + running.err() };
    };

    const paused = await run();
    expect(paused.said).toMatch(/Paused \(key\): .*401/);
    expect(paused.code).toBe(4);
    sandbox.setFaults(broken);
    let done = await run();
    // Two answers of another program pause the job again.
    for (let tries = 0; done.code === 6 && tries < 5; tries++) done = await run();
    expect([done.code, done.said]).toEqual([0, expect.any(String)]);

    expect(paused.said + done.said).not.toContain(canary);
    for (const pid of processesOf(folder.stateDir)) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(canary);
    }
    expect(filesWith(folder.dir, canary)).toEqual([]);
    // The search did reach the histories in the server's database, and the bodies in the journal.
    expect(filesWith(folder.stateDir, 'enrichSlice').some((path) => /\.(db|sqlite)(-wal)?$/.test(path))).toBe(true);
    expect(filesWith(join(folder.stateDir, 'journal'), '<html>').length).toBeGreaterThan(0);
    expect(filesWith(folder.stateDir, '401').length).toBeGreaterThan(0);
  },
);
