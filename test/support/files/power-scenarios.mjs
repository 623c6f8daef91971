// Scenarios for a disk that fails. `run` makes promises, one after the other: values of named items. A removal is only attempted: a power
// loss may undo it. `read` returns the value of each item in the folder, null for an item that is not there, and throws for an item that
// cannot be read. `next` uses the folder once more.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Secret } from '../../../dist/core/connections/secret.js';
import { newBucket } from '../../../dist/core/limiter/rate-queue.js';
import { unitKeys } from '../../../dist/core/purchase/unit-key.js';
import { csvReader, readSlice, sliceFile, stageRows } from '../../../dist/rows/index.js';
import { readStage } from '../../../dist/rows/stage-manifest.js';
import { FileJournal } from '../../../dist/store/file/file-journal.js';
import { fileRates } from '../../../dist/store/limiter/file-rates.js';
import { FileSecrets } from '../../../dist/store/process/file-secrets.js';
import { createWarehouses } from '../../../dist/warehouse/index.js';
import { isReported, noteReported } from '../../../dist/worker/control/monitor-control.js';
import { stageEnrichment } from '../../../dist/worker/staging/stage-job.js';
import { FolderJobs } from '../../../dist/worker/store/folder-jobs.js';

/** File functions of this module's own steps, which are no steps of the product. */
const { readFileSync, readdirSync, existsSync } = fs;
const plain = { writeFileSync: fs.writeFileSync, appendFileSync: fs.appendFileSync };
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

const keyOf = (number) => sha256(`unit ${number}`).slice(0, 32);
const units = Array.from({ length: 14 }, (_, index) => index + 1);
const AT = Date.parse('2026-11-20T10:00:00.000Z');
const SEGMENTS = { first: 'job/gen/000000', second: 'job/gen/000001', other: 'other/gen/000000' };
const textOf = (number) => `answer ${number} `.repeat(60);

function outcome(number) {
  return {
    ...{ key: keyOf(number), unit: `https://example.com/${number}`, status: 'success', errorTag: null },
    ...{ httpStatus: 200, source: 'crawled', costMicros: 1000, result: { text: textOf(number) } },
  };
}

const intend = (journal, owner, numbers, segment) =>
  journal.intend({
    ...{ owner, segment, operation: 'contents', keys: numbers.map(keyOf) },
    ...{ estimateMicros: 1000 * numbers.length, deadline: AT + 60_000 },
  });
const land = (journal, id, numbers) =>
  journal.land(id, { requestId: `request-${id}`, fetchedAt: AT, units: numbers.map(outcome) });
const each = (numbers, value) => Object.fromEntries(numbers.map((number) => [`unit ${number}`, value(number)]));
const landed = (number) => `landed ${sha256(textOf(number))}`;

/** State of a unit, as the next purchase sees it. */
async function unitState(journal, number) {
  const key = keyOf(number);
  const found = await journal.lookup([key]);
  if (found.length > 0) {
    const record = await journal.read([key]).catch((error) => {
      if (error.name === 'BodiesGone') return null;
      throw error;
    });
    return record === null ? 'bodies gone' : `landed ${sha256(record.get(key).result.text)}`;
  }
  const { mine } = await journal.claim([key], 'reader');
  return mine[0].started ? 'started' : mine[0].unknowns > 0 ? 'unknown' : null;
}

const journalScenario = {
  name: 'journal',
  async run(folder, { make, attempt, retry, disk }) {
    const dir = join(folder, 'state', 'journal');
    const open = () => retry(() => FileJournal.open(dir, { writes: true }));
    const buy = async (journal, owner, numbers, segment) => {
      await journal.claim(numbers.map(keyOf), owner);
      const id = await make(
        each(numbers, () => 'unknown'),
        () => intend(journal, owner, numbers, segment),
      );
      await make(each(numbers, landed), () => land(journal, id, numbers));
    };
    let journal = await open();
    await make({ caps: { dayMicros: 10_000_000, monthMicros: null } }, () =>
      journal.setCaps({ dayMicros: 10_000_000, monthMicros: null }),
    );
    await buy(journal, 'a', [1, 2], SEGMENTS.first);
    // Two requests share a sync.
    await Promise.all([buy(journal, 'b', [3], SEGMENTS.first), buy(journal, 'c', [4], SEGMENTS.first)]);
    // A run at the service.
    await journal.claim([keyOf(5)], 'd');
    const run = await make({ 'unit 5': 'unknown' }, () => intend(journal, 'd', [5], SEGMENTS.other));
    await make({ 'unit 5': 'started' }, () => journal.note(run, 'd', { runId: 'run-5' }));
    await make({ 'unit 5': landed(5) }, () => land(journal, run, [5]));
    await journal.claim([keyOf(6)], 'e');
    const lost = await make({ 'unit 6': 'unknown' }, () => intend(journal, 'e', [6], SEGMENTS.second));
    await make({ 'unit 6': 'unknown' }, () => journal.miss(lost, 'the connection broke', 'maybe'));
    await make({ 'unit 7': landed(7) }, () =>
      journal.recordOutcomes('f', SEGMENTS.second, 'contents', [outcome(7)], { requestId: null, fetchedAt: AT }),
    );
    await journal.claim([keyOf(8), keyOf(9)], 'g');
    await make({ 'unit 8': 'unknown' }, () => intend(journal, 'g', [8], SEGMENTS.second));
    const still = await make({ 'unit 9': 'unknown' }, () => intend(journal, 'g', [9], SEGMENTS.first));
    await make({ 'unit 9': 'started' }, () => journal.note(still, 'g', { runId: 'run-9' }));
    await make({ caps: { dayMicros: 20_000_000, monthMicros: 90_000_000 } }, () =>
      journal.setCaps({ dayMicros: 20_000_000, monthMicros: 90_000_000 }),
    );
    await retry(() => journal.close());

    // The process ended during a write: the next process records its open purchases, and cuts the line off.
    const lines = join(dir, `${SEGMENTS.first}.journal`);
    disk.around(() => plain.appendFileSync(lines, '1234abcd {"t":"ans'));
    journal = await open();
    await buy(journal, 'h', [10], SEGMENTS.first);
    await retry(() => journal.close());

    // A bit of an answer's line flips: the next process repairs the file.
    disk.around(() => {
      const text = readFileSync(lines, 'utf8');
      plain.writeFileSync(lines, text.replace(/\{"t":"answer"/, '{"t":"anSwer"'));
    });
    journal = await open();
    await buy(journal, 'i', [11], SEGMENTS.first);
    await attempt({ 'unit 5': 'bodies gone' }, () => journal.prune('other/', Date.now() + 60_000));
    await retry(() => journal.close());
  },
  async read(folder) {
    const journal = await FileJournal.open(join(folder, 'state', 'journal'), { writes: true });
    const items = {};
    for (const number of units) items[`unit ${number}`] = await unitState(journal, number);
    const caps = await journal.caps();
    items.caps = caps.dayMicros === null ? null : caps;
    await journal.close();
    return items;
  },
  async next(folder) {
    const open = () => FileJournal.open(join(folder, 'state', 'journal'), { writes: true });
    let journal = await open();
    for (const segment of Object.values(SEGMENTS)) {
      await journal.claim([keyOf(99)], segment);
      await land(journal, await intend(journal, segment, [99], segment), [99]);
    }
    await journal.close();
    journal = await open();
    if ((await unitState(journal, 99)) !== landed(99)) throw new Error('the next purchase is not landed');
    await journal.close();
  },
};

function rethrow(error) {
  throw error;
}

const staged = (job, generation) => ({
  ...{ job, name: job, origin: 'sandbox', operation: 'contents', input: '/data/a.csv', into: '/data/a.duckdb' },
  ...{ generation, stageDir: '/data/stage', columns: ['url'], unitColumn: 'url', options: {}, rows: 3, badRows: 0 },
  ...{ distinctUnits: 3, slices: 1, rowsPerSlice: 3, window: 1, batch: 100 },
});
const entryOf = (job) => ({
  ...{ staged: job, named: false, csv: null, completed: null, asked: {} },
  state: { phase: 'running', since: AT },
});
const entry = (job, generation) => entryOf(staged(job, generation));
const walk = (stream) => ({
  job: 'events-sync',
  workflowId: 'w',
  origin: 'sandbox',
  stream,
  into: `/data/${stream}.duckdb`,
});

const jobsScenario = {
  name: 'jobs',
  async run(folder, { make, attempt }) {
    const jobs = new FolderJobs(join(folder, 'state', 'jobs'), rethrow);
    for (const generation of ['one', 'two'])
      await make({ 'job a': generation }, () => jobs.put(entry('a', generation)));
    await make({ 'job b': 'one' }, () => jobs.put(entry('b', 'one')));
    for (const stream of ['first', 'second']) await make({ walk: stream }, () => jobs.putWalk(walk(stream)));
    const owned = { workflowId: 'w', job: 'a', owners: [{ id: 'x', host: 'h', pid: 1 }] };
    await make({ 'job a': 'three', owned: 'a' }, () =>
      jobs.claim('w', () => ({ owned, entry: { job: 'a', now: entry('a', 'three') } })),
    );
    await attempt({ 'job b': null, owned: null }, () =>
      jobs.claim('w', () => ({ owned: null, entry: { job: 'b', now: null } })),
    );
    const name = (what) => ({ field: 'csv', what, host: 'h' });
    await make({ allowed: ['/a'] }, () => jobs.allow([name('/a')]));
    await make({ allowed: ['/a', '/b'] }, () => jobs.allow([name('/b')]));
    jobs.close();
  },
  async read(folder) {
    const jobs = new FolderJobs(join(folder, 'state', 'jobs'), rethrow);
    const names = (await jobs.allowed()).map(({ what }) => what);
    return {
      'job a': (await jobs.get('a'))?.staged.generation ?? null,
      'job b': (await jobs.get('b'))?.staged.generation ?? null,
      walk: (await jobs.walks())[0]?.stream ?? null,
      owned: (await jobs.owned())[0]?.job ?? null,
      allowed: names.length === 0 ? null : names,
    };
  },
  async next(folder) {
    const jobs = new FolderJobs(join(folder, 'state', 'jobs'), rethrow);
    await jobs.put(entry('c', 'one'));
    await jobs.claim('v', () => ({ owned: null }));
    if ((await jobs.all()).every(({ staged: { job } }) => job !== 'c')) throw new Error('the next job is not there');
  },
};

const secretsScenario = {
  name: 'secrets',
  async run(folder, { make }) {
    const secrets = new FileSecrets(join(folder, 'own', 'secrets.json'));
    await make({ a: 'first' }, () => secrets.put('a', new Secret('first')));
    await make({ b: 'second' }, () => secrets.put('b', new Secret('second')));
    await make({ a: 'third' }, () => secrets.put('a', new Secret('third')));
    await make({ b: null }, () => secrets.remove('b'));
    await make({ c: 'fourth' }, () => secrets.put('c', new Secret('fourth')));
  },
  async read(folder) {
    const secrets = new FileSecrets(join(folder, 'own', 'secrets.json'));
    const value = async (name) => (await secrets.get(name))?.reveal() ?? null;
    return { a: await value('a'), b: await value('b'), c: await value('c') };
  },
  async next(folder) {
    const secrets = new FileSecrets(join(folder, 'own', 'secrets.json'));
    await secrets.put('d', new Secret('fifth'));
    if ((await secrets.get('d'))?.reveal() !== 'fifth') throw new Error('the next secret is not there');
    const left = readdirSync(join(folder, 'own')).filter((name) => name.endsWith('.draft'));
    if (left.length > 0) throw new Error(`drafts with secrets are left: ${left}`);
  },
};

const limitOf = (folder) => fileRates(join(folder, 'limit.json'), join(folder, 'limit.block.json'));
/** The end of the block from now, in whole minutes; null without a block. */
const blockOf = async (folder) => {
  const { block, now } = await limitOf(folder).look();
  return block && Math.round((block.until - now) / 60_000);
};

const filesScenario = {
  name: 'limits and reports',
  async run(folder, { make, retry }) {
    const limit = await retry(async () => limitOf(folder));
    for (const minutes of [30, 60])
      await make({ block: minutes }, async () => limit.hold((await limit.look()).now + minutes * 60_000, 'blocked'));
    await retry(() => limit.change(({ buckets }) => void Object.assign(buckets, { all: newBucket(10, 0) })));
    for (const run of ['run-1', 'run-2', 'run-3'])
      await make({ [run]: true }, () => noteReported(join(folder, 'state'), run));
  },
  async read(folder) {
    const has = (run) => isReported(join(folder, 'state'), run) || null;
    return { block: await blockOf(folder), 'run-1': has('run-1'), 'run-2': has('run-2'), 'run-3': has('run-3') };
  },
  async next(folder) {
    await limitOf(folder).change(({ buckets }) => void Object.assign(buckets, { all: newBucket(10, 0) }));
    await noteReported(join(folder, 'state'), 'run-4');
    if (!isReported(join(folder, 'state'), 'run-4')) throw new Error('the next report is not there');
  },
};

const rowsOf = (count, host) => Array.from({ length: count }, (_, index) => `https://${host}/${index}`);

/** Reads a stage whole. */
async function stageState(dir) {
  const manifest = await readStage(dir);
  if (manifest === null) return null;
  const rows = [];
  for (let slice = 0; slice < manifest.slices; slice++) rows.push(...(await readSlice(sliceFile(dir, slice))));
  return rows.map(({ u }) => u);
}

const stagesScenario = {
  name: 'stages',
  async prepare(outside) {
    for (const host of ['one.com', 'two.com'])
      plain.writeFileSync(join(outside, `${host}.csv`), `url\n${rowsOf(450, host).join('\n')}\n`);
    return { outside };
  },
  async run(folder, { make, retry }, { outside }) {
    const jobs = new FolderJobs(join(folder, 'state', 'jobs'), rethrow);
    for (const host of ['one.com', 'two.com']) {
      const { staged: job } = await retry(() => stageOf(folder, outside, host));
      // The command writes the entry after the stage.
      await make({ [host]: rowsOf(450, host) }, () => jobs.put(entryOf({ ...job, job: host.replace('.', '-') })));
    }
  },
  async read(folder) {
    const jobs = new FolderJobs(join(folder, 'state', 'jobs'), rethrow);
    const items = {};
    for (const host of ['one.com', 'two.com']) {
      const job = await jobs.get(host.replace('.', '-'));
      const parts = job?.staged.stageDir.split('/').slice(-3) ?? [];
      items[host] = job && (await stageState(join(folder, 'state', ...parts)));
      if (job && items[host] === null) throw new Error(`the stage of ${host} is missing, but its job is there`);
    }
    return items;
  },
  async next(folder, { outside }) {
    const { staged: job } = await stageOf(folder, outside, 'two.com');
    if ((await stageState(job.stageDir))?.length !== 450) throw new Error('the next stage is not whole');
  },
};

const stageOf = (folder, outside, host) =>
  stageEnrichment(
    {
      ...{ stateDir: join(folder, 'state'), origin: 'sandbox', cwd: outside, concurrency: 5, shared: false },
      transport: { check: () => undefined },
    },
    {
      ...{ input: join(outside, `${host}.csv`), delimiter: null, job: null, into: join(outside, 'a.duckdb') },
      ...{ options: {}, urlColumn: null, batch: 100 },
    },
  );

/** A warehouse with two jobs, outside of the failing disk. */
async function loadedWarehouse(outside) {
  const warehouses = createWarehouses();
  const { rows } = warehouses.open(join(outside, 'w.duckdb'));
  for (const job of ['one-1', 'two-1']) {
    const outDir = join(outside, `stage-${job}`);
    const options = { text: true };
    const source = Readable.from([Buffer.from(`url\n${rowsOf(3, `${job}.com`).join('\n')}\n`)]);
    const manifest = await stageRows({
      reader: csvReader({ source, delimiter: null }),
      ...{ units: { kind: 'url', column: 'url' }, rowsPerSlice: { large: 100, small: 100 } },
      ...{ keyOf: unitKeys(sha256, 'sandbox', 'contents', options), sha256, outDir },
    });
    const generation = 'gen';
    const record = {
      ...{ job, name: job, origin: 'sandbox', operation: 'contents', input: '/data/a.csv', generation, options },
      ...{ columns: manifest.columns, rows: manifest.rows, slices: manifest.slices },
    };
    const rowsFile = sliceFile(outDir, 0);
    await rows.openJob(record, [rowsFile]);
    const answers = (await readSlice(rowsFile)).map(({ k, u }) =>
      JSON.stringify({
        ...{ key: k, unit: u, operation: 'contents', request_id: 'r', fetched_at: new Date(AT).toISOString() },
        ...{ cost_micros: 1000, status: 'success', error_tag: null, http_status: 200, source: 'crawled' },
        result: { id: u, url: u, title: `Title of ${u}`, text: `Text of ${u}` },
      }),
    );
    const unitFile = join(outside, `${job}.jsonl`);
    plain.writeFileSync(unitFile, `${answers.join('\n')}\n`);
    await rows.load({ job, generation, slice: 0, attempt: '1', rowsFile, unitFiles: [unitFile], sharedAnswers: false });
  }
  const known = {};
  for (const job of ['one-1', 'two-1']) {
    await rows.exportCsv(job, join(outside, `${job}.csv`));
    await rows.exportParquet(job, join(outside, `${job}.parquet`));
    known[hashOf(join(outside, `${job}.csv`))] = job;
    known[hashOf(join(outside, `${job}.parquet`))] = job;
  }
  return { rows, known, close: () => warehouses.close() };
}

/** Hash of a file, or of the files of a folder; null if there is none. */
function hashOf(path) {
  if (!existsSync(path)) return null;
  if (!fs.statSync(path).isDirectory()) return sha256(readFileSync(path));
  const files = readdirSync(path).sort();
  return sha256(files.map((name) => `${name} ${sha256(readFileSync(join(path, name)))}`).join('\n'));
}

/** Exports of one kind. `swaps`: whether the file system can exchange two names. */
function exportScenario(kind, swaps = true) {
  const target = (folder) => join(folder, 'out', kind === 'csv' ? 'rows.csv' : 'rows');
  const write = ({ rows }, job, path) => (kind === 'csv' ? rows.exportCsv(job, path) : rows.exportParquet(job, path));
  const jobOf = ({ known }, path) => {
    const hash = hashOf(path);
    if (hash === null) return null;
    if (!known[hash]) throw new Error(`${path} is no whole export`);
    return known[hash];
  };
  return {
    name: `${kind} export${swaps ? '' : ' without an exchange of names'}`,
    swaps,
    prepare: loadedWarehouse,
    async run(folder, { make }, world) {
      for (const job of ['one-1', 'two-1']) await make({ export: job }, () => write(world, job, target(folder)));
    },
    async read(folder, world) {
      const found = jobOf(world, target(folder));
      if (swaps || found !== null) return { export: found };
      // The next export gives a folder that was moved aside its name back.
      const out = join(folder, 'out');
      const drafts = existsSync(out) ? readdirSync(out).filter((name) => name.startsWith('.searchflow-draft-')) : [];
      const aside = drafts.map((name) => jobOf(world, join(out, name, 'aside'))).filter((job) => job !== null);
      return { export: aside[0] ?? null };
    },
    async next(folder, world, isSameProcess) {
      await write(world, 'two-1', target(folder));
      if (jobOf(world, target(folder)) !== 'two-1') throw new Error('the next export is not there');
      const left = readdirSync(join(folder, 'out')).filter((name) => name.startsWith('.'));
      // A draft that could not be removed is removed after the end of its process.
      if (!isSameProcess && left.length > 0) throw new Error(`drafts are left: ${left}`);
    },
  };
}

export const scenarios = [
  journalScenario,
  jobsScenario,
  secretsScenario,
  filesScenario,
  stagesScenario,
  exportScenario('csv'),
  exportScenario('parquet'),
  exportScenario('parquet', false),
];
