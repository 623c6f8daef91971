// Events a second beside a plain script with one cursor, against one server in a process of its own; at no latency and at 50 ms.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { from, history, lastLine, until, walk, withTemporal } from './events-walk.mjs';
import { median, medians, root, sandboxProcess, timed, workFolder } from './measure.mjs';
import { bar, row } from './results.mjs';

export const defaults = { events: 300_000, runs: 3, latency: '0,50', parallel: 16, one: 'yes' };
/** At a latency, the plain script takes so long that fewer events are enough. */
const MOST_SLOW = 100_000;

export const run = ({ latency, events, ...options }) =>
  withTemporal(async (address) => {
    for (const latencyMs of String(latency).split(',').map(Number))
      await measure({ ...options, address, latencyMs, events: latencyMs === 0 ? events : Math.min(events, MOST_SLOW) });
  });

async function measure({ address, latencyMs, events, runs, parallel, one }) {
  const { dir, remove } = workFolder();
  const sandbox = await sandboxProcess({ latencyMs, logEntries: 1000, events: history(events) });
  const script = join(root, 'bench', 'plain-events.mjs');
  const figures = ({ seconds, cpu, peakMb }) => ({
    seconds,
    'events/s': events / seconds,
    'CPU s': cpu,
    'peak MB': peakMb,
  });
  const walks = {
    'plain script': async (file) => {
      const ran = await timed([script, sandbox.url, file, from, until], { cwd: root });
      rmSync(file);
      return figures({ ...ran, seconds: lastLine(ran).seconds });
    },
    [`${parallel} windows`]: async (into) => figures(await walk({ url: sandbox.url, into, address, parallel }, events)),
  };
  if (one === 'yes' && latencyMs === 0)
    walks['one window'] = async (into) => figures(await walk({ url: sandbox.url, into, address, parallel: 1 }, events));
  try {
    const found = Object.fromEntries(Object.keys(walks).map((name) => [name, []]));
    for (let turn = 0; turn <= runs; turn++) {
      for (const [name, measured] of Object.entries(walks)) {
        const ran = await measured(join(dir, `${turn}.duckdb`));
        const note = turn === 0 ? ' (warm-up, not counted)' : '';
        console.log(`${latencyMs} ms, ${name}: ${ran['events/s'].toFixed(0)}/s${note}`);
        if (turn > 0) found[name].push(ran);
      }
    }
    const { 'plain script': plain, ...ours } = found;
    for (const [name, list] of Object.entries(found))
      row({ program: name, latency: `${latencyMs} ms`, ...medians(list) });
    for (const [name, list] of Object.entries(ours)) {
      const ratio = median(list.map((one, index) => plain[index].seconds / one.seconds));
      bar(`events/s at ${latencyMs} ms, ${name} / plain`, ratio, latencyMs === 0 ? '>= 0.8' : '>= 1');
    }
    const peak = Math.max(...ours[`${parallel} windows`].map((one) => one['peak MB']));
    bar(`peak memory at ${latencyMs} ms, MB`, peak, '<= 1000');
  } finally {
    await sandbox.stop();
    remove();
  }
}
