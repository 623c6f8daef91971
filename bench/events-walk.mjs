// What the benches of events share: the range, a Temporal server, and one walk of searchflow in a process of its own.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTemporalBinary } from '../dist/worker/temporal-server/binary.js';
import { readRow, root, timed } from './measure.mjs';

export const from = '2025-01-01T00:00:00.000Z';
export const until = '2026-01-01T00:00:00.000Z';
export const history = (count) => ({ count, from, to: until, order: 'newest' });

/** Runs `measure` with the address of a Temporal server. */
export async function withTemporal(measure) {
  const { path } = await findTemporalBinary({ env: process.env, say: () => undefined });
  const extraArgs = ['--dynamic-config-value', 'system.enableActivityEagerExecution=true'];
  const server = { executable: { type: 'existing-path', path }, extraArgs };
  const temporal = await TestWorkflowEnvironment.createLocal({ server });
  try {
    await measure(temporal.address);
  } finally {
    await temporal.teardown();
  }
}

/** The number of events of a file, and of their ids. */
export const countEvents = 'select count(*)::int, count(distinct id)::int from events';

export const lastLine = ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1));

/** One walk, see our-events.mjs; the events in its file are counted, then it is removed. */
export async function walk(options, wanted) {
  const script = join(root, 'bench', 'our-events.mjs');
  const ran = await timed([script, JSON.stringify({ from, until, ...options })], { cwd: root });
  const counts = await readRow(options.into, countEvents);
  if (counts.some((count) => count !== wanted)) throw new Error(`${counts} events loaded of ${wanted}`);
  rmSync(options.into);
  const result = lastLine(ran);
  return { ...result, speed: wanted / result.seconds };
}
