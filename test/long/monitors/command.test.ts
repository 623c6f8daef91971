import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, type TestContext, vi } from 'vitest';
import { startService } from '../../service/service.mjs';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { filesWith } from '../../support/jobs/files-with.js';
import { Folder } from '../../support/jobs/folder.js';
import { killAllOf } from '../../support/jobs/processes.js';

const canary = 'whsec_canary-1f6e0c52d98b4a37';
const definition = {
  name: 'launches',
  search: { query: 'product launches' },
  webhook: { url: 'https://hooks.example/launches' },
};

/** A strict service, and the command in a folder of its own. */
async function open({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const server = await startService({ key: 'key-of-the-strict-service' });
  server.monitors.secret = canary;
  const folder = new Folder();
  const env = {
    SEARCHFLOW_API_KEY: server.key,
    SEARCHFLOW_BASE_URL: server.url,
    SEARCHFLOW_STATE_DIR: folder.stateDir,
    XDG_STATE_HOME: folder.dir,
  };
  onTestFinished(async () => {
    killAllOf(folder.stateDir);
    await server.close();
    folder.remove();
  });
  const cwd = folder.dir;
  writeFileSync(join(cwd, 'definition.json'), JSON.stringify(definition));
  return {
    server,
    folder,
    run: (...args: string[]) => runCommand(['monitors', ...args, '--qps', '200'], { cwd, env }),
    start: (...args: string[]) => startCommand(['monitors', ...args, '--qps', '200'], { cwd, env }),
  };
}

// Each test has a service, a worker and a folder of its own and mostly waits for a killed worker, so the tests run in parallel.
describe.concurrent('the command', () => {
  it.runIf(process.platform === 'linux')(
    'fault 55: the webhook secret is in the given file only, and not in the output of the command, killed or not',
    async (context) => {
      const { server, folder, start } = await open(context);
      let creations = 0;
      server.faultOf = (_call, method, path) =>
        method === 'POST' && path === '/monitors' && ++creations === 1 ? 'lost' : 'ok';
      mkdirSync(join(folder.dir, 'secrets'));
      const secretFile = join(folder.dir, 'secrets', 'hooks.json');
      const create = () => start('create', 'definition.json', '--secret-file', secretFile);
      const said: string[] = [];
      const adopted = create();
      expect(await adopted.ended).toBe(1);
      expect(adopted.err()).toMatch(/secret missing: .*a new id/);
      said.push(adopted.out() + adopted.err());
      expect(server.monitors.records.size).toBe(1);
      const killed = create();
      await vi.waitUntil(() => creations === 2, { timeout: 60_000, interval: 1 });
      killAllOf(folder.stateDir);
      await killed.ended;
      said.push(killed.out() + killed.err());
      const last = create();
      // If the kill lost the answer, the command finds the monitor at the service, but its secret is missing: exit code 1.
      expect([0, 1]).toContain(await last.ended);
      said.push(last.out() + last.err());
      expect(server.monitors.records.size).toBe(2);
      const kept = create();
      expect([await kept.ended, kept.err()]).toEqual([0, expect.stringContaining('webhook secret is in')]);
      said.push(kept.out() + kept.err());
      expect(said.join('\n')).not.toContain(canary);
      expect(readFileSync(secretFile, 'utf8')).toContain(canary);
      expect(filesWith(folder.dir, canary)).toEqual([secretFile]);
      // The search did reach the histories in the server's database, and the answers in the journal.
      expect(filesWith(folder.stateDir, 'makeMonitor').length).toBeGreaterThan(0);
      expect(filesWith(join(folder.stateDir, 'journal'), 'launches').length).toBeGreaterThan(0);
    },
  );
});
