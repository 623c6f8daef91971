import { expect, it, type TestContext, vi } from 'vitest';
import { startService } from '../../service/service.mjs';
import { startCommand } from '../../support/cli/command.js';
import { Folder } from '../../support/jobs/folder.js';
import { killAllOf } from '../../support/jobs/processes.js';

const soon = { timeout: 60_000, interval: 20 };
const STANDS_BY = 'Standing by to take over';
const TAKES_OVER = 'This one is running';
const processes = { skip: process.platform !== 'linux', timeout: 120_000 };

function openFolder({ onTestFinished }: TestContext) {
  const folder = new Folder();
  onTestFinished(() => {
    killAllOf(folder.stateDir);
    folder.remove();
  });
  const env = { SEARCHFLOW_STATE_DIR: folder.stateDir, XDG_STATE_HOME: folder.dir };
  return {
    folder,
    run: (args: string[], more: Record<string, string> = {}) =>
      startCommand(args, { cwd: folder.dir, env: { ...env, ...more } }),
  };
}

it.concurrent(
  'faults 27, 28: a watching command takes over as worker when its process ends, and when it is killed',
  processes,
  async (context) => {
    const service = await startService({ agents: { durationMs: { min: 600_000, max: 600_000 } } });
    context.onTestFinished(() => service.close());
    const { run } = openFolder(context);
    const env = { SEARCHFLOW_API_KEY: 'key-of-the-agents', SEARCHFLOW_BASE_URL: service.url };
    const ask = (query: string) => run(['agent', 'run', query, '--effort', 'low', '--qps', '50', '--json'], env);
    const started = (query: string) =>
      vi.waitUntil(() => service.agents.starts.some((start) => start.query === query), soon);
    const end = (query: string) => {
      for (const one of service.agents.runs.values()) if (one.request.query === query) one.endsAt = 0;
    };
    const first = ask('first');
    await started('first');
    const second = ask('second');
    await second.says(STANDS_BY);
    await started('second');
    end('first');
    expect(await first.ended).toBe(0);
    await second.says(TAKES_OVER);
    const third = ask('third');
    await third.says(STANDS_BY);
    await started('third');
    second.child.kill('SIGKILL');
    await third.says(TAKES_OVER);
    third.child.kill('SIGINT');
    expect(await third.ended).toBe(130);
    expect(third.err()).toContain('Stopping');
    expect(service.agents.starts.map(({ query }) => query)).toEqual(['first', 'second', 'third']);
  },
);
