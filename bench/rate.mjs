// Share of a strict rate limit that is used, and waits for Retry-After: the service's own request log is the judge.
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { enrichEnv } from './enrich.mjs';
import { command, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { bar } from './results.mjs';

/** Runs a job on the sandbox; returns the CPU seconds of the command. */
async function runJob(dir, sandbox, { rows, qps, name, batch, op = 'contents', start = 0, env = {} }) {
  const csv = join(dir, `${name}.csv`);
  await writeRows(csv, rows, start);
  const request = op === 'contents' ? ['--batch', String(batch)] : ['--op', op, '--query', '{{name}}'];
  const args = [
    ...[command, 'enrich', csv, '--into', join(dir, `${name}.duckdb`)],
    ...['--qps', String(qps), '--yes', '--json', ...request],
  ];
  const { cpu } = await timed(args, { cwd: dir, env: { ...enrichEnv(sandbox.url, join(dir, name)), ...env } });
  return cpu;
}

/** Runs a job on the sandbox; returns the log of requests and the CPU seconds of the command. */
async function job(dir, sandbox, options) {
  const cpuSeconds = await runJob(dir, sandbox, options);
  return { log: await sandbox.get('log'), cpuSeconds };
}

/** The part of the limit that a job uses from the third second. */
function usedOf(log, limit, seconds) {
  const first = Math.min(...log.slice(0, 1000).map(({ at }) => at));
  const window = log.filter((entry) => entry.at >= first + 2000 && entry.at < first + 2000 + seconds * 1000);
  return window.filter((entry) => entry.status === 200).length / (limit * seconds);
}

/** Single requests at 100 a second, the public limit of contents: the use of the limit, and the CPU of the command. */
async function fast(dir, { op, seconds, qps }) {
  const sandbox = await sandboxProcess({ qps, latencyMs: 300, retryAfter: 'none', logEntries: 1_000_000 });
  const requests = qps * (seconds + 5);
  const { log, cpuSeconds } = await job(dir, sandbox, { rows: requests, qps, name: op, batch: 1, op });
  sandbox.stop();
  const what = `${op}, one row a request, ${qps}/s`;
  const used = usedOf(log, qps, seconds);
  const cpuMs = (1000 * cpuSeconds) / requests;
  bar(`${what}: part of the limit used from the third second`, used, '>= 0.97');
  bar(`${what}: CPU of the command, ms a request`, cpuMs, '<= 4');
}

/** Commands that share the limit of 100 a second through PostgreSQL, each with its own state folder and job. */
async function shared(dir, { processes, seconds, qps }) {
  const sandbox = await sandboxProcess({ qps, latencyMs: 300, retryAfter: 'none', logEntries: 1_000_000 });
  // With the settings of a production server: every commit is on the disk.
  const server = await startPostgres({ flags: ['fsync=on'] });
  try {
    const store = await server.database();
    const rows = Math.ceil((qps * (seconds + 10)) / processes);
    const cpus = await Promise.all(
      Array.from({ length: processes }, (_, nth) =>
        runJob(dir, sandbox, {
          ...{ rows, start: nth * rows, qps, name: `shared-${nth}`, batch: 1 },
          env: { SEARCHFLOW_STORE: store },
        }),
      ),
    );
    const log = await sandbox.get('log');
    const used = usedOf(log, qps, seconds);
    const cpuMs = (1000 * cpus.reduce((sum, cpu) => sum + cpu, 0)) / (rows * processes);
    const what = `contents, one row a request, ${processes} commands on PostgreSQL, ${qps}/s`;
    console.log(
      `${log.filter((entry) => entry.limited).length} of ${log.length} requests refused, ${cpuMs.toFixed(2)} CPU ms`,
    );
    bar(`${what}: part of the limit used from the third second`, used, '>= 0.97');
  } finally {
    await server.stop();
    sandbox.stop();
  }
}

export const defaults = { seconds: 60, qps: 10, fastQps: 100, fastSeconds: 30, only: 'contents,search,shared,limits' };

export async function run({ seconds, qps, fastQps, fastSeconds, only }) {
  const { dir, remove } = workFolder();
  const wanted = only.split(',');
  try {
    for (const op of ['contents', 'search'])
      if (wanted.includes(op)) await fast(dir, { op, seconds: fastSeconds, qps: fastQps });
    if (wanted.includes('shared')) await shared(dir, { processes: 4, seconds: fastSeconds, qps: fastQps });
    if (!wanted.includes('limits')) return;
    const strict = await sandboxProcess({ qps, latencyMs: 400, retryAfter: 'none' });
    const { log } = await job(dir, strict, {
      rows: qps * (seconds + 5) * 5,
      qps,
      name: 'strict',
      batch: 5,
    });
    strict.stop();
    bar('part of the limit used from the third second', usedOf(log, qps, seconds), '>= 0.97');
    const refused = log.filter((entry) => entry.limited).length / log.length;
    bar('part of requests answered 429', refused, '<= 0.01');

    const blocked = await sandboxProcess({
      latencyMs: 400,
      faults: [
        { when: { every: 20 }, do: { kind: 'status', status: 429, tag: 'RATE_LIMIT_EXCEEDED', retryAfter: '3' } },
      ],
    });
    const { log: entries } = await job(dir, blocked, { rows: 600, qps, name: 'blocked', batch: 5 });
    blocked.stop();
    const early = entries
      .filter((entry) => entry.status === 429)
      .flatMap((refusal) =>
        entries.filter((entry) => entry.at > refusal.doneAt + 50 && entry.at < refusal.doneAt + 3000),
      );
    bar('requests started during a Retry-After of 3 s', early.length, '= 0');
  } finally {
    remove();
  }
}
