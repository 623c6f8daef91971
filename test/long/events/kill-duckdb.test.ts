import { expect, it } from 'vitest';
import { killEvents } from '../../support/kill-events.mjs';

it.runIf(process.platform === 'linux')(
  'faults 24, 31, 39 and 52: backfill and sync into DuckDB, killed at random, load every event once and make the same state',
  async () => {
    const kills = 3;
    const report = await killEvents({ events: 4000, kills, into: 'duckdb', order: 'newest', qps: 40 });
    const rows = report.events;
    expect(report).toMatchObject({ deaths: kills, rows, missing: 0, doubled: 0, pending: 0, different: [] });
    expect(report.watermark).toBe(report.newest);
  },
  180_000,
);
