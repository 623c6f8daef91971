import { expect, it, vi } from 'vitest';
import { startService } from '../../service/service.mjs';
import { commandFolder } from '../../support/jobs/command-folder.js';

const soon = { timeout: 60_000, interval: 20 };
const STANDS_BY = 'Standing by to take over';
const TAKES_OVER = 'This one is running';

it.runIf(process.platform === 'linux')(
  'faults 27, 28: a watching command takes over as worker when its process ends, and when it is killed',
  async () => {
    const service = await startService({ agents: { durationMs: { min: 600_000, max: 600_000 } } });
    const { start } = commandFolder(service);
    const ask = (query: string) => start(['agent', 'run', query, '--effort', 'low', '--qps', '50', '--json']);
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
