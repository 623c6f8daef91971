// Agent runs for rows, three jobs at once on one worker, and then fifty workflows of one run each, against a strict service in a
// process of its own. Measures how many slots are used, how many starts are refused, and the time from the end of a run to its
// result. The service's own log is the judge.
//   npm run bench -- agents [--rows 1000] [--slots 50] [--qps 10] [--min 5000] [--max 30000] [--kills 0]
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { enrichEnv } from './enrich.mjs';
import { command, median, serviceProcess, workFolder } from './measure.mjs';
import { bar } from './results.mjs';

const JOBS = 3;

/** Starts a node process; returns its first line of output, a function that ends it, and its end. */
function start(args, options) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => (out += data));
  child.stderr.on('data', (data) => (err += data));
  const ended = new Promise((resolve) => child.once('close', resolve));
  return { child, ended, out: () => out, err: () => err };
}

/** Mean number of runs in progress between two times. */
function meanInProgress(runs, from, to) {
  const busy = runs.reduce(
    (sum, { startedAt, endsAt }) => sum + Math.max(0, Math.min(endsAt, to) - Math.max(startedAt, from)),
    0,
  );
  return busy / (to - from);
}

/** Highest number of units admitted within any second. */
function mostInASecond(starts) {
  let most = 0;
  for (let index = 0, from = 0; index < starts.length; index++) {
    while (starts[index].at - starts[from].at >= 1000) from++;
    most = Math.max(most, 2 * (index - from + 1));
  }
  return most;
}

export const defaults = { rows: 1000, slots: 50, qps: 10, min: 5000, max: 30_000, kills: 0 };

export async function run({ rows, slots, qps, min, max, kills }) {
  const { dir, remove } = workFolder();
  const service = await serviceProcess({
    qps,
    agents: { slots, durationMs: { min, max } },
  });
  const env = { ...process.env, ...enrichEnv(service.url, dir) };
  const startWorker = () => start([command, 'worker', '--qps', String(qps)], { cwd: dir, env });
  let worker = startWorker();
  try {
    while (!worker.err().includes('Worker running on')) await delay(50);
    const share = Math.ceil(rows / JOBS);
    const begun = performance.now();
    const jobs = await Promise.all(
      Array.from({ length: JOBS }, async (_, index) => {
        const count = Math.min(share, rows - share * index);
        const lines = Array.from({ length: count }, (_row, row) => `${index}-${row},Company ${index}-${row}`);
        const file = join(dir, `companies${index}.csv`);
        await writeFile(file, `id,name\n${lines.join('\n')}\n`);
        const into = join(dir, `out${index}.duckdb`);
        const args = ['agent', 'rows', file, '--query', 'Find the CEO of {{name}}', '--effort', 'low', '--into', into];
        return start([command, ...args, '--qps', String(qps), '--yes', '--json'], { cwd: dir, env });
      }),
    );
    for (let kill = 0; kill < kills; kill++) {
      await delay(3000 + Math.random() * 7000);
      worker.child.kill('SIGKILL');
      await worker.ended;
      worker = startWorker();
    }
    const codes = await Promise.all(jobs.map(({ ended }) => ended));
    console.log(
      `${rows} rows in ${((performance.now() - begun) / 1000).toFixed(0)} s, load ${loadavg()[0].toFixed(1)}`,
    );
    for (const [index, code] of codes.entries()) {
      if (code !== 0) throw new Error(`job ${index} ended with ${code}\n${jobs[index].err().slice(-2000)}`);
    }
    const { starts, runs } = await service.get('runs');
    const admitted = starts.filter(({ refused }) => refused === null);
    const [from, to] = [admitted[slots - 1]?.at ?? admitted[0].at, admitted.at(-1).at];
    const queries = new Set(admitted.map(({ query }) => query));
    const refused = (why) => starts.filter((one) => one.refused === why).length;
    const summaries = jobs.map(({ out }) => JSON.parse(out().trim().split('\n').at(-1)));
    const unknown = summaries.reduce(
      (sum, { unknownOutcomes }) => sum + (unknownOutcomes?.length ?? unknownOutcomes ?? 0),
      0,
    );
    const seen = runs
      .filter(({ seenOverAt }) => seenOverAt !== null)
      .map(({ seenOverAt, endsAt }) => seenOverAt - endsAt);
    console.log(`an end is read after ${median(seen).toFixed(0)} ms at the median; ${unknown} unknown outcomes`);
    const early = starts.flatMap(({ earlyMs }) => (earlyMs === undefined ? [] : [earlyMs.toFixed(1)]));
    if (early.length > 0) console.log(`refused for their rate, so many ms too early: ${early.join(', ')}`);
    const inProgress = meanInProgress(runs, from, to);
    bar('in progress on average, from the first full house to the last start', inProgress, `>= ${slots * 0.96}`);
    bar('part of the starts refused because no slot was free', refused('slots') / starts.length, '<= 0.02');
    bar('part of the starts refused for their rate', refused('rate') / starts.length, '<= 0.01');
    bar('most units in a second', mostInASecond(admitted), `<= ${qps}`);
    bar('runs a distinct request', admitted.length / queries.size, '= 1');
    bar('distinct requests with a run, as a part of all', (queries.size + unknown) / rows, '>= 1');
    bar('seconds from an end to its result, median', (await lone(dir, service.url, slots)) / 1000, '<= 1.5');
  } finally {
    worker.child.kill('SIGINT');
    await worker.ended;
    await service.stop();
    remove();
  }
}

/** Runs `count` workflows of one run each at once; returns the median milliseconds from the end of a run to the end of its workflow. */
async function lone(dir, url, count) {
  const { port } = JSON.parse(readFileSync(join(dir, 'state', 'server.json'), 'utf8'));
  const connection = await Connection.connect({ address: `127.0.0.1:${port}` });
  const client = new Client({ connection });
  try {
    const late = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const handle = await client.workflow.start('runAgent', {
          taskQueue: 'searchflow',
          workflowId: `lone-${index}`,
          args: [{ query: `Alone ${index}`, effort: 'low' }, {}],
        });
        const { runId } = await handle.result();
        const { closeTime } = await handle.describe();
        return { runId, closedAt: closeTime.getTime() };
      }),
    );
    const ends = await Promise.all(
      late.map(async ({ runId, closedAt }) => {
        const { completedAt } = await (
          await fetch(`${url}/agent/runs/${runId}`, { headers: { 'x-api-key': 'bench' } })
        ).json();
        return closedAt - Date.parse(completedAt);
      }),
    );
    return median(ends);
  } finally {
    await connection.close();
  }
}
