// The shapes of campaigns. A shape has a service, commands, the frequency of each disturbance, and judges.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeEvents } from './judge-events.mjs';
import { judgeMonitors } from './judge-monitors.mjs';
import { judgeRows } from './judge-rows.mjs';

const wire = ['reset', 'lost', 'failed', 'cut'].map((how, seed) => ({ how, share: 0.01, seed: seed + 1 }));
const paid = [
  ...wire.map((fault) => ({ what: 'rows', ...fault })),
  { what: 'rows', how: 'status', status: 503, share: 0.01 },
];
const alone = { command: 3, group: 2, server: 2, stop: 1, stopServer: 1, http: 1, disk: 1, clock: 1 };

/** Runs jobs one after the other until the campaign ends. Each job has rows of its own. */
const jobs = (words, options) => async (campaign) => {
  const expected = [];
  for (let job = 0; job === 0 || !campaign.isFinished(); job++) {
    const rows = Array.from({ length: Number(campaign.size.rows) }, (_, index) => {
      const id = `${job}-${index}`;
      return { id, name: `Company ${id}`, url: `https://site-${id}.example/about` };
    });
    const file = join(campaign.dir, `rows-${job}.csv`);
    writeFileSync(file, `id,name,url\n${rows.map(({ id, name, url }) => `${id},${name},${url}\n`).join('')}`);
    const csv = join(campaign.dir, 'out', `rows-${job}.csv`);
    await campaign.toEnd([...words, file, ...options, '--into', campaign.warehouse, '--csv', csv, '--json', '--yes']);
    expected.push({ rows, csv });
  }
  return expected;
};

const contents = {
  noun: 'rows',
  concurrency: 4,
  workers: 0,
  into: 'duckdb',
  service: { qps: 20, retryAfter: 1, latencyMs: 150, faults: paid, rows: { failureRate: 0.02 } },
  size: { rows: 600 },
  between: 25,
  disturbances: alone,
  run: jobs(['enrich'], ['--batch', '10']),
  judge: (campaign) => judgeRows(campaign, { keyOf: ({ url }) => url }),
};

const search = {
  ...contents,
  size: { rows: 150 },
  run: jobs(['enrich'], ['--op', 'search', '--query', '{{name}} official site', '--num-results', '2']),
  judge: (campaign) =>
    judgeRows(campaign, { keyOf: ({ name }) => `search ${JSON.stringify(`${name} official site`)}`, results: 2 }),
};

const agents = {
  ...contents,
  noun: 'agents',
  service: {
    ...{ qps: 20, retryAfter: 1, agents: { durationMs: { min: 500, max: 3000 } } },
    faults: [
      ...wire.map((fault) => ({ what: 'start', ...fault })),
      { what: 'start', how: 'named', share: 0.01, seed: 5 },
      { what: 'look', how: 'status', status: 503, share: 0.02, seed: 6 },
    ],
  },
  size: { rows: 80 },
  between: 60,
  run: jobs(['agent', 'rows'], ['--query', 'Who leads {{name}}?', '--effort', 'low']),
  judge: (campaign) =>
    judgeRows(campaign, {
      keyOf: ({ name }) => `Who leads ${name}?`,
      purchaseKey: (key) => JSON.parse(key.slice('agent '.length))[0],
      outputs: true,
    }),
};

const postgres = {
  ...contents,
  into: 'postgres',
  workers: 2,
  disturbances: { worker: 3, command: 2, postgres: 2, server: 1, stop: 1, http: 1, clock: 1, group: 1 },
};

const [from, to] = [Date.UTC(2025, 0, 1), Date.UTC(2025, 11, 31)];
const days = ['--from', new Date(from).toISOString(), '--until', new Date(to).toISOString()];

async function walks({ toEnd, isFinished, warehouse }) {
  const events = (...args) => toEnd(['events', ...args, '--into', warehouse, '--json']);
  await Promise.all([events('backfill', ...days), events('sync')]);
  while (!isFinished()) await events('verify', ...days);
}

const events = {
  noun: 'events',
  concurrency: 4,
  workers: 0,
  into: 'duckdb',
  service: {
    ...{ qps: 40, retryAfter: 1, faults: wire.map((fault) => ({ what: 'events', ...fault })) },
    events: { from, to, count: 4000, repeatRecords: 13, repeatPage: 97, cursorTtlMs: 20_000, lateMs: 90_000 },
  },
  size: {},
  between: 12,
  // The campaign on PostgreSQL also kills the database.
  disturbances: { ...alone, postgres: 2 },
  run: walks,
  judge: judgeEvents,
};

async function batches({ toEnd, isFinished, service, size, dir, warehouse }) {
  for (let index = 0; index < Number(size.monitors); index++) {
    const metadata = index % 2 === 0 ? { team: 'growth' } : null;
    service.monitors.add({ metadata, status: index % 40 === 0 ? 'disabled' : 'active' });
  }
  const done = [];
  for (let round = 0; round === 0 || !isFinished(); round++) {
    const [action, from] = round % 2 === 0 ? ['pause', 'active'] : ['unpause', 'paused'];
    const right = [...service.monitors.records.values()]
      .filter(({ metadata, status }) => metadata?.team === 'growth' && status === from)
      .map(({ id }) => id);
    const firstCall = service.log.length;
    const into = warehouse.startsWith('postgres') ? warehouse : join(dir, 'out', `batch-${round}.duckdb`);
    const args = ['monitors', action, '--metadata', 'team=growth', '--limit', '7', '--into', into];
    await toEnd([...args, '--yes', '--json']);
    done.push({ action, right, into, firstCall, lastCall: service.log.length });
  }
  return done;
}

const monitors = {
  ...contents,
  noun: 'monitors',
  service: {
    ...{ qps: 20, retryAfter: 1, latencyMs: 50 },
    faults: [
      ...wire.map((fault) => ({ what: 'monitors', ...fault, share: 0.03 })),
      { what: 'monitors', how: 'status', status: 503, share: 0.03, seed: 5 },
    ],
  },
  size: { monitors: 400 },
  between: 15,
  run: batches,
  judge: judgeMonitors,
};

export const shapes = { rows: contents, search, agents, events, monitors, postgres };
