import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, expect, it } from 'vitest';
import type { Json } from '../../../src/core/text/json.js';
import { inPackage } from '../../../src/files/package-root.js';
import { CsvError } from '../../../src/rows/index.js';
import { isolatedReader } from '../../../src/sources/isolated-reader.js';
import type { SourceRequest } from '../../../src/sources/source-request.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { isLong } from '../../support/tier.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const file = (name: string) => join(dir, name);
const MOST_MB = 700;
let url: string;

beforeAll(async () => {
  await runInDuckDb(
    file('x.duckdb'),
    `CREATE TABLE t AS SELECT 1 AS a;
    COPY (SELECT repeat('x', 2000000) AS t FROM range(3000)) TO '${file('small.parquet')}' (COMPRESSION zstd)`,
  );
  writeFileSync(file('one.csv'), 'name\nx\n');
  writeFileSync(file('wide.jsonl'), `{"a":[${'1,'.repeat(7_000_000)}1]}\n`);
  url = await sharedPostgres().database('hostile');
});

let count = 0;
function start({ template = null, ...more }: Partial<SourceRequest> & { template?: Json }, signal?: AbortSignal) {
  const scratch = file(`scratch-${++count}`);
  mkdirSync(scratch);
  const request = { input: file('x.duckdb'), stdin: Readable.from([]), delimiter: null, scratch, ...more };
  return isolatedReader(request, template, process.env).open(signal);
}

/** The processes that this process has started and that still run. */
const children = () =>
  readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((id) => id.trim() !== '');

/** Reads all rows. Returns their number or the error, and the peak of memory of the reading process in MB. */
async function read(request: Parameters<typeof start>[0]) {
  let peak = 0;
  const watch = setInterval(() => {
    for (const id of children()) {
      try {
        const found = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1];
        peak = Math.max(peak, Number(found ?? 0) / 1024);
      } catch {
        // The process has ended.
      }
    }
  }, 10);
  try {
    const table = await start(request);
    try {
      let rows = 0;
      for await (const batch of table.batches()) rows += batch.length;
      return { peak, found: rows };
    } finally {
      await table.close();
    }
  } catch (error) {
    return { peak, found: error as CsvError };
  } finally {
    clearInterval(watch);
  }
}

const sql = (text: string) => ({ sql: text });
const templates = {
  tablerow: '{{name}}{% tablerow i in (1..4000000) cols:1 %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endtablerow %}',
  doubled: '{% assign s = name %}{% for i in (1..60) %}{% assign s = s | append: s %}{% endfor %}{{s}}',
};
/** The time of a template and the memory of its process are bounded; the speed of the machine decides which bound comes first. */
const templateEnds = /^The template of query fails|needs more than 640 MiB of memory/;
const tooMuch = /more memory|more than 4 MiB|needs more than 640 MiB/;
const hostile: Readonly<Record<string, [() => Parameters<typeof start>[0], RegExp]>> = {
  'a long text': [() => sql("SELECT repeat('x', 600000000) AS t"), tooMuch],
  'a text above the limit of a row': [
    () => sql("SELECT repeat('x', 17000000) AS t"),
    /^row 1: the row has more than 4 MiB/,
  ],
  'a long list': [() => sql('SELECT range(50000000) AS t'), tooMuch],
  'a small Parquet file': [() => ({ input: file('small.parquet') }), tooMuch],
  'a JSON list': [() => ({ input: file('wide.jsonl') }), tooMuch],
  ...Object.fromEntries(
    Object.entries(templates).map(([name, query]) => [
      `a template (${name})`,
      [() => ({ input: file('one.csv'), template: { query } }), templateEnds],
    ]),
  ),
  'a long text of PostgreSQL': [() => ({ input: url, sql: "SELECT repeat('x', 600000000)" }), tooMuch],
  'a later text of PostgreSQL': [
    () => ({
      input: url,
      sql: "SELECT repeat('x', CASE WHEN n = 300 THEN 60000000 ELSE 1 END) FROM generate_series(1, 400) n",
    }),
    /^row 300: the row has more than 4 MiB/,
  ],
  'a long error of PostgreSQL': [
    () => ({ input: url, sql: "SELECT repeat('x', 60000000 + n)::int FROM generate_series(1, 2) n" }),
    /^The SQL fails on .* invalid input syntax for type integer: "xxx/,
  ],
};

const text = (bytes: number) => `repeat(md5(n::text), ${bytes} / 32)`;
writeFileSync(file('texts.jsonl'), `${JSON.stringify({ n: 1, t: 'a"é\\'.repeat(400_000) })}\n`.repeat(20));
const large: Readonly<Record<string, [() => Parameters<typeof start>[0], number]>> = {
  'large rows of PostgreSQL after small rows': [
    () => ({
      input: url,
      sql: `SELECT n, CASE WHEN n < 600 THEN 'x' ELSE ${text(4_100_000)} END FROM generate_series(1, 700) n`,
    }),
    700,
  ],
  'long texts of JSON with quotes': [() => ({ input: file('texts.jsonl') }), 20],
};

/** Cases that need the most memory and time; a case of the same limit remains in the contract tier. */
const longOnly = [
  ...['a long text', 'a small Parquet file', 'a template (tablerow)', 'a long text of PostgreSQL'],
  ...['a long error of PostgreSQL', 'large rows of PostgreSQL after small rows'],
];
/** Each case is in one tier. */
const ofTier = <Case>(cases: Readonly<Record<string, Case>>) =>
  Object.entries(cases).filter(([name]) => isLong === longOnly.includes(name));

it.each(ofTier(large))('%s are read in bounded memory', async (_name, [request, rows]) => {
  const { found, peak } = await read(request());
  expect(found).toBe(rows);
  expect(peak).toBeLessThan(400);
});

it.each(ofTier(hostile))(
  '%s costs bounded memory, and ends its reading with a sentence',
  async (_name, [request, why]) => {
    const { found, peak } = await read(request());
    expect(found).toBeInstanceOf(CsvError);
    expect((found as CsvError).message).toMatch(why);
    expect((found as CsvError).message).not.toContain('canary');
    expect(peak).toBeLessThan(MOST_MB);
    expect(children()).toEqual([]);
  },
);

it.skipIf(isLong)('a step that ignores interrupts ends with its abort, and with the process that reads', async () => {
  const endless = "SELECT max(strlen(repeat('x', 1000 + (range % 7)::INT))) FROM range(100000000000)";
  const stop = new AbortController();
  const table = await start(sql(endless), stop.signal);
  const reading = (async () => {
    for await (const _batch of table.batches());
  })();
  expect(children()).toHaveLength(1);
  stop.abort(new Error('no more'));
  await expect(reading).rejects.toThrow('no more');
  await table.close();
  expect(children()).toEqual([]);

  const code = `const { isolatedReader } = await import(process.argv[1]);
    const { Readable } = await import('node:stream');
    const table = await isolatedReader({ input: process.argv[2], sql: process.argv[3], stdin: Readable.from([]), delimiter: null, scratch: process.argv[4] }, null, process.env).open();
    console.log((await import('node:fs')).readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8'));
    for await (const _batch of table.batches());`;
  const reader = inPackage('dist', 'sources', 'isolated-reader.js');
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code, reader, file('x.duckdb'), endless, dir]);
  const [said] = (await once(parent.stdout, 'data')) as [Buffer];
  parent.kill('SIGKILL');
  await expect.poll(() => isRunning(Number(said)), { timeout: 10_000 }).toBe(false);
});

function isRunning(id: number): boolean {
  try {
    // A zombie has ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${id}/status`, 'utf8'));
  } catch {
    return false;
  }
}
