// Rows and events a second beside other programs, one after the other, against one server in a process of its own. Seconds are those of the
// whole process, from its start to its end; the figures of searchflow include its Temporal server.
//   npm run bench -- peers [--rows 20000] [--events 300000] [--latency 0,50] [--runs 3] [--only rows,events]
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { enrichArgs, enrichEnv } from './enrich.mjs';
import { countEvents, from, history, until } from './events-walk.mjs';
import {
  command,
  median,
  medians,
  readRow,
  root,
  sandboxProcess,
  timed,
  usageOf,
  workFolder,
  writeRows,
} from './measure.mjs';
import { setUpPeers } from './peers-set-up.mjs';
import { bar, row, version } from './results.mjs';

export const defaults = { rows: 20_000, events: 300_000, latency: '0,50', runs: 3, only: 'rows,events' };

/** How many times as fast as dlt with its defaults the events must load, by latency in ms. A tuned dlt must only be slower. */
const wanted = { 0: 5, 50: 7 };

const countRows = "select count(*)::int, count(*) filter (status = 'success')::int from";
const script = (...path) => join(root, 'bench', ...path);
const telemetryOff = { RUNTIME__DLTHUB_TELEMETRY: 'false' };

/** Each program of a kind of work: its arguments, its interpreter, and the query that counts what it wrote. */
const programs = {
  rows: ({ csv, url, file, python, exaJs }) => ({
    'plain script': { args: [script('plain-enrich.mjs'), csv, url, file], count: `${countRows} pages` },
    'exa-js': { args: [script('plain-enrich.mjs'), csv, url, file, exaJs], count: `${countRows} pages` },
    'exa-py': { args: [script('peers', 'exa_rows.py'), csv, url, file], program: python, count: `${countRows} pages` },
    ...dlt((form) => ({
      args: [script('peers', 'dlt_rows.py'), csv, url, file, form],
      ...{ program: python, count: `${countRows} bench.pages` },
    })),
    searchflow: { args: enrichArgs(csv, 'peers', file), count: `${countRows} enriched_rows` },
  }),
  events: ({ url, file, python, exaJs }) => ({
    'plain script': { args: [script('plain-events.mjs'), url, file, from, until], count: countEvents },
    'exa-js': { args: [script('plain-events.mjs'), url, file, from, until, exaJs], count: countEvents },
    'exa-py': { args: [script('peers', 'exa_events.py'), url, file], program: python, count: countEvents },
    ...dlt(
      (form) => ({
        args: [script('peers', 'dlt_events.py'), url, file, from, until, form],
        ...{ program: python, count: countEvents.replace('from ', 'from bench.') },
      }),
      { 'dlt, defaults': 'defaults' },
    ),
    searchflow: {
      args: [
        ...[command, 'events', 'backfill', '--into', file, '--from', from, '--until', until],
        ...['--qps', '10000', '--json'],
      ],
      count: countEvents,
    },
  }),
};

/** dlt in its two forms: items as Python objects, and Arrow tables, which it loads as they are. `more`: further forms by name. */
function dlt(of, more = {}) {
  const forms = { ...more, 'dlt, items': 'items', 'dlt, Arrow tables': 'arrow' };
  return Object.fromEntries(Object.entries(forms).map(([name, form]) => [name, of(form)]));
}

/** Runs one program in a folder of its own; returns its usage and what it wrote. */
async function measured({ args, program, count }, { dir, file, url }) {
  const env = { ...enrichEnv(url, dir), ...telemetryOff, DLT_DATA_DIR: dir };
  const ran = await timed(args, { cwd: dir, env, ...(program && { program }) });
  const server =
    args[0] === command ? usageOf(JSON.parse(readFileSync(join(dir, 'state', 'server.json'), 'utf8')).pid) : null;
  return {
    seconds: ran.seconds,
    cpu: ran.cpu + (server?.cpu ?? 0),
    peakMb: ran.peakMb + (server?.peakMb ?? 0),
    counts: await readRow(file, count),
  };
}

/** Measures all programs of one kind of work; returns the seconds of each, by run. */
async function compare(kind, { work, units, runs, sandbox: options, peers, csv }) {
  const sandbox = await sandboxProcess({ logEntries: 1000, ...options });
  const found = {};
  try {
    for (let turn = 0; turn < runs; turn++) {
      let expected = null;
      for (const name of Object.keys(programs[kind]({ ...peers, csv: '', url: '', file: '' }))) {
        const { dir, remove } = workFolder();
        const place = { dir, file: join(dir, 'out.duckdb'), url: sandbox.url };
        const { counts, ...ran } = await measured(programs[kind]({ ...peers, ...place, csv })[name], place);
        remove();
        expected ??= [units, ...counts.slice(1)];
        if (String(counts) !== String(expected)) throw new Error(`${name} wrote ${counts} ${kind}, not ${expected}`);
        console.log(`${work}: ${name}, ${ran.seconds.toFixed(1)} s`);
        found[name] = [...(found[name] ?? []), ran];
      }
    }
  } finally {
    await sandbox.stop();
  }
  for (const [program, list] of Object.entries(found)) {
    const { seconds, cpu, peakMb } = medians(list);
    row({ work, program, seconds, 'a second': units / seconds, 'CPU s': cpu, 'peak MB': peakMb });
  }
  return Object.fromEntries(Object.entries(found).map(([name, list]) => [name, list.map(({ seconds }) => seconds)]));
}

export async function run({ rows, events, latency, runs, only }) {
  const { versions, ...peers } = setUpPeers();
  for (const [name, text] of Object.entries(versions)) version(name, text);
  const { dir, remove } = workFolder();
  const csv = join(dir, 'rows.csv');
  await writeRows(csv, rows);
  try {
    if (only.includes('rows')) await compare('rows', { work: 'rows', units: rows, runs, sandbox: {}, peers, csv });
    for (const latencyMs of only.includes('events') ? String(latency).split(',').map(Number) : []) {
      const work = `events, ${latencyMs} ms`;
      const sandbox = { latencyMs, events: history(events) };
      const found = await compare('events', { work, units: events, runs, sandbox, peers });
      for (const name of Object.keys(found).filter((program) => program.startsWith('dlt, '))) {
        const ratio = median(found[name].map((seconds, index) => seconds / found.searchflow[index]));
        const what = `events/s at ${latencyMs} ms, searchflow / ${name}`;
        bar(what, ratio, `>= ${(name === 'dlt, defaults' && wanted[latencyMs]) || 1}`);
      }
    }
  } finally {
    remove();
  }
}
