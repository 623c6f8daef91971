import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { inRoot } from './root.mjs';

/** More bars than these are too many to read: only the missed ones are shown. */
const MOST_BARS = 8;

/** The saved results of the benches, by name. */
export function savedResults() {
  const folder = inRoot('bench', 'results');
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return Object.fromEntries(
    files.sort().map((file) => [basename(file, '.json'), JSON.parse(readFileSync(join(folder, file), 'utf8'))]),
  );
}

/** The text of docs/why/benchmarks.md. */
export function benchmarksDoc(results) {
  const placed = new Set();
  /** Commands, bars and figures of some results; several have a label each. */
  const show = (labels) => {
    const found = Object.entries(labels).filter(([name]) => name in results);
    for (const [name] of found) placed.add(name);
    if (found.length === 0) return 'Not measured yet.';
    const parts = found.map(([name, label]) => ({ label, ...results[name] }));
    return [commandsOf(parts), barsOf(parts), figuresOf(parts)].filter((text) => text !== '').join('\n\n');
  };
  const text = `# Benchmarks

Each figure comes from a command that ends with exit code 1 if a bar is missed. Ratios compare two programs in the same run, one after the
other, on one server, with nothing else running. Figures of other machines differ; ratios differ less.

The service is the sandbox, in a process of its own. The *plain script* is [\`bench/plain-enrich.mjs\`](../../bench/plain-enrich.mjs) or
[\`bench/plain-events.mjs\`](../../bench/plain-events.mjs): no durability, no rate limit, no retries. The script for rows sends its requests
with \`fetch\` and stores the fields of each page once. The *lean script* is the same with a pool of connections: it is the fastest that we
could write. Ratios are searchflow divided by the plain script.

## Rows

Batches of 100 rows, results of 2 KB, no rate limit:

${show({ enrich: 'DuckDB', 'enrich-postgres': 'PostgreSQL' })}

The speed is what durability costs at no rate limit: an intent and an answer on the disk for each request, staged rows, a workflow, and loads
with a ledger. The command also tries the rows once more that failed at no cost, which are about one in a hundred pages of the sandbox; the
plain script does not. At the service's rate limits the command waits most of the time.

One row a request, answers after 300 ms:

${show({ rate: '' })}

## Start

\`searchflow enrich\` on a new state folder, with the libraries in the file cache:

${show({ start: '' })}

## Events

Events into the current state:

${show({ events: '' })}

## Other programs

Each program does the same work on the same server. A run fails if a program has written another number of rows or events to its DuckDB
file. Seconds are those of the whole process, with its start. The figures of searchflow include its Temporal server. Rows are page contents
in batches of 100, with 32 requests at once and no rate limit. For events, the other programs write a row for each event; searchflow also
writes the current state.

For \`exa-js\`, the plain script sends its requests with this client. The scripts for \`exa-py\` insert Arrow tables. dlt appends rows and
merges events by their id. With its defaults, dlt reads the events with one cursor and chooses the format of its files and the strategy of the
merge. Otherwise dlt loads parquet files, from Python objects (*items*) or from Arrow tables, and merges events by \`upsert\`, in eight windows of
time at once.

${show({ 'peers-rows': 'Rows', peers: 'Events' })}

| program | after a kill | rate limit | retries | pages of events |
|---|---|---|---|---|
| plain script | starts again and pays again | none | none | one after the other |
| \`exa-js\`, \`exa-py\` | starts again and pays again | none | none | one after the other: the list takes no times |
| dlt | loads what was extracted; an extraction that was not complete starts again and pays again | none | 5 attempts, with \`Retry-After\` | windows that the user writes |
| searchflow | continues; no paid answer is lost or paid again | shared by all jobs, with \`Retry-After\` | by kind of failure | 16 windows at once |

## Temporal actions

A worker with the plugin and without watchers. The server counts the actions.

${show({ actions: '' })}

A worker that dies is noticed within ten seconds. Workers of commands (\`enrich\`, \`worker\`) send a heartbeat each second, so that progress is
current.

## Growth

A worker with the plugin, no rate limit, pages of 1.3 KB. Disk counts the input, the stage, the journal and the DuckDB file, but no database of
a server. CPU and memory are those of the worker. Actions and events of the history are those of the job's Temporal workflow.

${show({ growth: 'DuckDB', 'growth-postgres': 'PostgreSQL' })}

Each bar compares the figure of a row or event with that at a tenth of the size. A history is bounded: the job continues as new when Temporal
suggests it.
`;
  const others = Object.keys(results).filter((name) => !placed.has(name));
  const rest =
    others.length === 0 ? '' : `\n## Other benches\n\n${others.map((name) => show({ [name]: '' })).join('\n\n')}\n`;
  return `${text}${rest}\n## Machines and versions\n\n${environmentsOf(results)}\n`;
}

function commandsOf(parts) {
  const lines = parts.map(({ label, command, options }) => {
    const given = Object.entries(options).map(([name, value]) => `${name} ${shown(value)}`);
    return `${label ? `${label}: ` : ''}\`${command}\` (${given.join('; ')})`;
  });
  return lines.join('\\\n');
}

function barsOf(parts) {
  const bars = parts.flatMap(({ label, bars: own }) =>
    own.map(({ name, ...bar }) => ({ ...bar, name: label ? `${label}: ${name}` : name })),
  );
  const missed = bars.filter(({ met }) => !met);
  const isLong = bars.length > MOST_BARS;
  const listed = isLong ? missed : bars;
  const table = tableOf(
    ['measure', 'result', 'bar'],
    listed.map(({ name, value, wanted, met }) => [name, value, `${signed(wanted)}${met ? '' : ': **missed**'}`]),
  );
  if (!isLong) return table;
  return [
    `${bars.length - missed.length} of ${bars.length} bars are met${missed.length > 0 ? '; not these:' : '.'}`,
    table,
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function figuresOf(parts) {
  const columns = [...new Set(parts.flatMap((part) => part.columns))];
  const rows = parts.flatMap((part) =>
    part.rows.map((row) => [part.label, ...columns.map((column) => row[part.columns.indexOf(column)] ?? '')]),
  );
  const hasLabels = parts.some(({ label }) => label);
  return tableOf(hasLabels ? ['case', ...columns] : columns, hasLabels ? rows : rows.map((row) => row.slice(1)));
}

function tableOf(columns, rows) {
  if (rows.length === 0) return '';
  const line = (cells) => `| ${cells.map(shown).join(' | ')} |`.replaceAll('|  |', '| |');
  return [line(columns), `|${'---|'.repeat(columns.length)}`, ...rows.map(line)].join('\n');
}

/** A number with three significant digits, from 1,000 with all digits before the point. */
function shown(value) {
  if (typeof value !== 'number') return String(value);
  const rounded = value >= 1000 ? Math.round(value) : Number(value.toPrecision(3));
  return rounded.toLocaleString('en-US', { maximumFractionDigits: 10 });
}

const signed = (wanted) => wanted.replace('>=', '≥').replace('<=', '≤').replace('= ', '');

/** A line for each machine and set of versions, with the results measured there. */
function environmentsOf(results) {
  const groups = new Map();
  for (const [name, { date, hardware, versions }] of Object.entries(results)) {
    const { cores, memoryGib, os } = hardware;
    const programs = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
    const text = `${date}: ${cores} cores, ${memoryGib} GiB, ${os}; ${programs.join(', ')}`;
    groups.set(text, [...(groups.get(text) ?? []), `\`${name}\``]);
  }
  return [...groups].map(([text, names]) => `- ${names.join(', ')} on ${text}`).join('\n');
}
