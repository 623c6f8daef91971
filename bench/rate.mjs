// Share of a strict rate limit that is used, and waits for Retry-After: the service's own request log is the judge.
import { join } from 'node:path';
import { enrichEnv } from './enrich.mjs';
import { bar, command, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';

async function job(dir, sandbox, { rows, qps, name, batch }) {
  const csv = join(dir, `${name}.csv`);
  await writeRows(csv, rows);
  const args = [
    command,
    'enrich',
    csv,
    '--into',
    join(dir, `${name}.duckdb`),
    '--qps',
    String(qps),
    '--batch',
    String(batch),
    '--json',
  ];
  await timed(args, { cwd: dir, env: enrichEnv(sandbox.url, join(dir, name)) });
  return sandbox.get('log');
}

export async function run({ seconds = 60, qps = 10 }) {
  const { dir, remove } = workFolder();
  const limit = Number(qps);
  const span = Number(seconds) * 1000;
  const met = [];
  try {
    const strict = await sandboxProcess({ qps: limit, latencyMs: 400, retryAfter: 'none' });
    const log = await job(dir, strict, {
      rows: limit * (Number(seconds) + 5) * 5,
      qps: limit,
      name: 'strict',
      batch: 5,
    });
    strict.stop();
    const first = log[0].at;
    const window = log.filter((entry) => entry.at >= first + 2000 && entry.at < first + 2000 + span);
    const granted = window.filter((entry) => entry.status === 200).length;
    met.push(
      bar(
        'part of the limit used from the third second',
        granted / (limit * Number(seconds)),
        (value) => value >= 0.97,
        '>= 0.97',
      ),
    );
    const refused = log.filter((entry) => entry.limited).length / log.length;
    met.push(bar('part of requests answered 429', refused, (value) => value <= 0.01, '<= 0.01'));

    const blocked = await sandboxProcess({
      latencyMs: 400,
      faults: [
        { when: { every: 20 }, do: { kind: 'status', status: 429, tag: 'RATE_LIMIT_EXCEEDED', retryAfter: '3' } },
      ],
    });
    const entries = await job(dir, blocked, { rows: 600, qps: limit, name: 'blocked', batch: 5 });
    blocked.stop();
    const early = entries
      .filter((entry) => entry.status === 429)
      .flatMap((refusal) =>
        entries.filter((entry) => entry.at > refusal.doneAt + 50 && entry.at < refusal.doneAt + 3000),
      );
    met.push(bar('requests started during a Retry-After of 3 s', early.length, (value) => value === 0, '0'));
    return met.every(Boolean);
  } finally {
    remove();
  }
}
