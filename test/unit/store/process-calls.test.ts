import { expect, it } from 'vitest';
import type { PgLimits, Postgres } from '../../../src/postgres/index.js';
import { ProcessHeartbeat } from '../../../src/store/postgres/journal/process-heartbeat.js';

it('a process registers, sends heartbeats and leaves by one statement each, without a transaction', async () => {
  const calls = new Map<string, PgLimits['isCall']>();
  let beat = () => {};
  const first = new Promise<void>((resolve) => {
    beat = resolve;
  });
  const query = async (text: string, _values: readonly unknown[], limits: PgLimits = {}) => {
    const name = /^SELECT "s"\.(\w+)/.exec(text)?.[1] ?? text;
    calls.set(name, limits.isCall);
    if (name === 'heartbeat') beat();
    return [{ known: true }];
  };
  const postgres = { address: { schema: 's' }, query } as unknown as Postgres;
  const heartbeat = await ProcessHeartbeat.enter(postgres, 10);
  await first;
  await heartbeat.leave();
  expect(Object.fromEntries(calls)).toEqual({ register_process: true, heartbeat: true, end_processes: true });
});
