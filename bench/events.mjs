// Events a second beside a plain script with one cursor, against one server in a process of its own; at no latency and at 50 ms.
// `--memory yes` and `--limit 10` take other measurements, see events-more.mjs.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTemporalBinary } from '../dist/worker/temporal-server/temporal-binary.js';
import { lastLine, runLimit, runMemory, walk } from './events-more.mjs';
import { bar, median, root, sandboxProcess, timed, workFolder } from './measure.mjs';

const from = '2025-01-01T00:00:00.000Z';
const until = '2026-01-01T00:00:00.000Z';

async function startTemporal() {
  const { path } = await findTemporalBinary({ env: process.env, say: () => undefined, stateDir: '.searchflow' });
  const extraArgs = ['--dynamic-config-value', 'system.enableActivityEagerExecution=true'];
  return TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path }, extraArgs } });
}

export async function run({ memory, limit, ...options }) {
  const temporal = await startTemporal();
  try {
    if (memory !== undefined) return await runMemory(temporal.address, options);
    if (limit !== undefined) return await runLimit(temporal.address, { limit, ...options });
    return await runSpeed(temporal.address, options);
  } finally {
    await temporal.teardown();
  }
}

async function runSpeed(address, { events = 300_000, runs = 3, latency = '0,50', parallel = 16, one = 'yes' }) {
  const { dir, remove } = workFolder();
  const met = [];
  try {
    for (const latencyMs of String(latency).split(',').map(Number)) {
      const wanted = latencyMs === 0 ? Number(events) : Math.min(Number(events), 100_000);
      const sandbox = await sandboxProcess({
        latencyMs,
        logEntries: 1000,
        events: { count: wanted, from, to: until, order: 'newest' },
      });
      const speeds = { plain: [], ours: [], single: [] };
      let peak = 0;
      for (let turn = 0; turn <= Number(runs); turn++) {
        const plainFile = join(dir, `plain-${latencyMs}-${turn}.duckdb`);
        const plain = lastLine(
          await timed([join(root, 'bench', 'plain-events.mjs'), sandbox.url, plainFile, from, until], { cwd: root }),
        );
        rmSync(plainFile);
        const ours = async (windows) => {
          const into = join(dir, `ours-${latencyMs}-${turn}-${windows}.duckdb`);
          const options = { url: sandbox.url, into, address, from, until, parallel: windows };
          return walk(options, wanted);
        };
        const many = await ours(Number(parallel));
        const single = one === 'yes' && latencyMs === 0 ? await ours(1) : null;
        const note = turn === 0 ? ' (warm-up, not counted)' : '';
        const plainSpeed = plain.events / plain.seconds;
        console.log(
          `${latencyMs} ms: plain ${plainSpeed.toFixed(0)}/s; ours ${many.speed.toFixed(0)}/s, ${many.cpu.toFixed(1)} CPU s, ` +
            `${many.peakMb.toFixed(0)} MB, ${many.pages} pages${single ? `; one at a time ${single.speed.toFixed(0)}/s` : ''}${note}`,
        );
        if (turn === 0 && Number(runs) > 0) continue;
        peak = Math.max(peak, many.peakMb);
        speeds.plain.push(plainSpeed);
        speeds.ours.push(many.speed / plainSpeed);
        if (single) speeds.single.push(single.speed / plainSpeed);
      }
      sandbox.stop();
      const least = latencyMs === 0 ? 0.8 : 1;
      met.push(
        bar(`events/s at ${latencyMs} ms, ours / plain`, median(speeds.ours), (value) => value >= least, `>= ${least}`),
      );
      if (speeds.single.length > 0) {
        met.push(
          bar(
            'events/s with one window at a time, ours / plain',
            median(speeds.single),
            (value) => value >= 0.8,
            '>= 0.8',
          ),
        );
      }
      met.push(bar('peak memory, MB', peak, (value) => value <= 500, '<= 500'));
    }
    return met.every(Boolean);
  } finally {
    remove();
  }
}
