import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startService } from '../../service/service.mjs';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { filesWith } from '../../support/jobs/files-with.js';
import { killAllOf } from '../../support/jobs/processes.js';

const canary = 'whsec_canary-1f6e0c52d98b4a37';
const definition = {
  name: 'launches',
  search: { query: 'product launches' },
  webhook: { url: 'https://hooks.example/launches' },
};

it.runIf(process.platform === 'linux')(
  'fault 55: the webhook secret is in the given file only, and not in the output of the command, killed or not',
  async () => {
    const server = await startService({ key: 'key-of-the-strict-service' });
    server.monitors.secret = canary;
    const { folder, start } = commandFolder(server, { key: server.key });
    writeFileSync(join(folder.dir, 'definition.json'), JSON.stringify(definition));
    let creations = 0;
    server.faultOf = (_call, method, path) =>
      method === 'POST' && path === '/monitors' && ++creations === 1 ? 'lost' : 'ok';
    mkdirSync(join(folder.dir, 'secrets'));
    const secretFile = join(folder.dir, 'secrets', 'hooks.json');
    const create = () => start(['monitors', 'create', 'definition.json', '--secret-file', secretFile, '--qps', '200']);
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
