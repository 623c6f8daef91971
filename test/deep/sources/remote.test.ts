import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RowRecord } from '../../../src/rows/index.js';
import { openReader } from '../../../src/sources/open-reader.js';
import { folderOfFile } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

// moto stands in for S3, and the extension of DuckDB is a package of Python, too.
const dir = folderOfFile();
const extensions = join(dir, 'extensions');
let server: ReturnType<typeof spawn> | null = null;
let web: Server | null = null;
let endpoint = '';
const files = new Map<string, Buffer>();

beforeAll(async () => {
  const python = join(dir, 'venv', 'bin', 'python');
  execFileSync('python3', ['-m', 'venv', join(dir, 'venv')]);
  execFileSync(python, ['-m', 'pip', 'install', '-q', 'moto[server]', 'duckdb-extension-httpfs==1.5.5']);
  mkdirSync(extensions);
  for (const file of readdirSync(join(dir, 'venv'), { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.duckdb_extension'))
      copyFileSync(join(dir, 'venv', file), join(extensions, file.split('/').at(-1) as string));
  server = spawn(join(dir, 'venv', 'bin', 'moto_server'), ['-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  endpoint = await new Promise<string>((resolve, reject) => {
    server?.once('exit', () => reject(new Error('moto has ended')));
    server?.stderr?.on('data', (said: Buffer) => {
      const found = /http:\/\/(127\.0\.0\.1:\d+)/.exec(said.toString());
      if (found) resolve(found[1] as string);
    });
  });
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'us-east-1' });
  const parquets = Object.entries({ '1': 1, '2': 2, other: "'x'" });
  const copies = parquets.map(([name, n]) => `COPY (SELECT ${n} AS n, 'Zürich' AS city) TO '${dir}/${name}.parquet'`);
  await runInDuckDb(':memory:', ...copies);
  files.set('/lake/mixed/1.parquet', readFileSync(join(dir, '1.parquet')));
  files.set('/lake/mixed/2.parquet', readFileSync(join(dir, 'other.parquet')));
  for (const part of [1, 2]) files.set(`/lake/rows/${part}.parquet`, readFileSync(join(dir, `${part}.parquet`)));
  files.set('/lake/rows.csv.gz', gzipSync('n,city\n1,Zürich\n2,"x\n'));
  files.set('/lake/rows.jsonl', Buffer.from('{"n":1,"city":"Zürich"}\n'));
  const put = (path: string, body?: Buffer) =>
    fetch(`http://${endpoint}${path}`, { method: 'PUT', ...(body ? { body: new Uint8Array(body) } : {}) });
  await put('/lake');
  for (const [path, body] of files) await put(path, body);
  web = createServer((request, response) => {
    const body = files.get(request.url ?? '');
    const [, from, to] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
    if (body === undefined) return void response.writeHead(404).end();
    const part = from === undefined ? body : body.subarray(Number(from), to ? Number(to) + 1 : undefined);
    const range =
      from === undefined ? {} : { 'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${body.length}` };
    response.writeHead(from === undefined ? 200 : 206, {
      'content-length': part.length,
      'accept-ranges': 'bytes',
      ...range,
    });
    response.end(request.method === 'HEAD' ? undefined : part);
  }).listen(0, '127.0.0.1');
}, 600_000);
afterAll(() => {
  server?.kill();
  web?.close();
});

let count = 0;
async function read(input: string, more: Partial<Parameters<typeof openReader>[0]> = {}) {
  const scratch = join(dir, `scratch-${++count}`);
  mkdirSync(scratch);
  const table = await openReader({
    input,
    stdin: Readable.from([]),
    delimiter: null,
    scratch,
    extensions,
    ...more,
  }).open();
  try {
    const rows: RowRecord[] = [];
    for await (const batch of table.batches()) rows.push(...batch);
    return { types: table.columns.map(({ type }) => type), rows };
  } finally {
    await table.close();
  }
}
const s3 = (path: string) => `s3://lake/${path}?endpoint=${endpoint}&url_style=path&use_ssl=false`;
const cellsOf = ({ rows }: { readonly rows: readonly RowRecord[] }) => rows.map(({ cells }) => cells);

it('rows of S3 are read from Parquet, a pattern, a prefix, CSV and JSON Lines', async () => {
  const all = [
    ['1', 'Zürich'],
    ['2', 'Zürich'],
  ];
  expect(cellsOf(await read(s3('rows/1.parquet')))).toEqual(all.slice(0, 1));
  const parts = await read(s3('rows/*.parquet'));
  expect(cellsOf(parts)).toEqual(all);
  expect(parts.types).toEqual(['INTEGER', 'VARCHAR']);
  expect(cellsOf(await read(s3('rows/'), { format: 'parquet' }))).toEqual(all);
  const csv = await read(s3('rows.csv.gz'));
  expect(cellsOf(csv)).toEqual([all[0], ['2,"x']]);
  expect(cellsOf(await read(s3('rows.jsonl')))).toEqual(all.slice(0, 1));
});

it('rows of a web server are read from Parquet and CSV', async () => {
  const { port } = (web as Server).address() as AddressInfo;
  const base = `http://127.0.0.1:${port}/lake`;
  expect(cellsOf(await read(`${base}/rows/2.parquet`))).toEqual([['2', 'Zürich']]);
  expect(cellsOf(await read(`${base}/rows.csv.gz`))).toHaveLength(2);
  await expect(read(`${base}/none.csv`)).rejects.toThrow(`${base}/none.csv was not found: correct its address`);
});

it('a redirect to another server is refused, and the other server gets no request', async () => {
  const asked: string[] = [];
  const other = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('url\nx\n');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const leading = createServer((request, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${port}${request.url}` }).end(),
  ).listen(0, '127.0.0.1');
  await once(leading, 'listening');
  const own = `127.0.0.1:${(leading.address() as AddressInfo).port}`;
  for (const input of [
    `http://${own}/x.csv`,
    `http://${own}/x.parquet`,
    `s3://lake/x.csv?endpoint=${own}&url_style=path&use_ssl=false`,
  ])
    await expect(read(input)).rejects.toThrow(`leads to another server, 127.0.0.1:${port}`);
  expect(asked).toEqual([]);
  for (const one of [other, leading]) one.close();
});

it('an address that cannot be read is one sentence', async () => {
  const wrong: [input: string, why: string, more?: Partial<Parameters<typeof openReader>[0]>][] = [
    [s3('none.csv'), 's3://lake/none.csv was not found: correct its bucket, name, region or endpoint'],
    [s3('none.parquet'), 's3://lake/none.parquet was not found'],
    [s3('rows.csv.gz').replace('lake', 'none'), 's3://none/rows.csv.gz was not found'],
    [
      s3('mixed/*.parquet'),
      's3://lake/mixed/2.parquet has other columns than s3://lake/mixed/1.parquet: "n" is VARCHAR and not INTEGER',
    ],
    [s3('none/*.csv'), 'No file matches s3://lake/none/*.csv'],
    ['s3://lake/x.csv?endpoint=127.0.0.1:1&use_ssl=false', 's3://lake/x.csv cannot be reached or read'],
    ['s3://lake/x.csv?zone=1', '--from: an s3:// address has no parameter zone'],
    ['s3://lake/x.csv?secret=canary', 'The address has the parameter secret'],
    ['https://user:canary@host/x.csv', 'The address has a user or password'],
    [s3('rows/1'), 'The name of s3://lake/rows/1 tells no format'],
    [
      s3('rows.csv.gz'),
      "Reading s3:// needs DuckDB's extension httpfs: put httpfs.duckdb_extension",
      { extensions: null },
    ],
    [s3('rows.csv.gz'), 's3://lake/rows.csv.gz cannot be read (No magic bytes', { format: 'parquet' }],
  ];
  for (const [input, why, more] of wrong) {
    const message = await read(input, more).then(String, (error: Error) => error.message);
    expect(message).toContain(why);
    expect(message).not.toMatch(/canary|scratch-/);
  }
});
