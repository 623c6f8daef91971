import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import type { Sink, SinkBatch, Sinks } from '../../../src/core/rows/sink.js';
import { readSlice } from '../../../src/rows/index.js';
import { openWarehouses } from '../../../src/worker/store/warehouses.js';
import { batchOf, buySlice, runJob, Service, stageText, unitFile } from '../../suites/row-job.js';
import { tableReader, typedValues } from '../../suites/typed-rows-contract.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';

const folder = folderOfFile();
const csv = (rows: number) =>
  `name,url\n${Array.from({ length: rows }, (_, row) => `n${row},https://${row}.example/\n`).join('')}`;

/** The warehouses of a worker with a record of its own. */
async function open(record: string, sinks: Sinks) {
  const stateDir = join(folder, randomUUID());
  const address = record === 'store' ? await sharedPostgres().database('sinks') : null;
  const store = address === null ? null : { url: new Secret(address), shown: address };
  const all = [openWarehouses({ say: () => undefined, stateDir, store, sinks }, false)];
  onTestFinished(async () => {
    for (const one of all) await one.close();
  });
  return {
    rows: all[0]?.of({ into: 'sink:mine' }) as ReturnType<(typeof all)[0]['of']>,
    warehouses: all[0] as (typeof all)[0],
    /** The same record, as another worker opens it. */
    again: async (other: Sinks) => {
      await all[0]?.close();
      const next = openWarehouses({ say: () => undefined, stateDir, store, sinks: other }, false);
      all.push(next);
      return next.of({ into: 'sink:mine' });
    },
  };
}

/** A sink that keeps its batches, and then does `work`. */
function keeping(work: (batch: SinkBatch, signal: AbortSignal) => Promise<void> | void = () => undefined) {
  const batches: SinkBatch[] = [];
  const mine: Sink = {
    async load(batch, { signal }) {
      batches.push(batch);
      await work(batch, signal);
    },
  };
  return { batches, mine };
}

describe.each(['folder', 'store'])('loads into a sink with a record in a %s', (record) => {
  it('gives the rows of a slice as their view has them, in order', async () => {
    const { batches, mine } = keeping();
    const { rows } = await open(record, { mine });
    await runJob(folder, rows, await stageText(folder, csv(4)), new Service());
    expect(batches.map((batch) => batch.rows.map(({ name }) => name))).toEqual([['n0', 'n1', 'n2'], ['n3']]);
    const [first] = batches;
    expect(first).toMatchObject({ job: 'brands-1', table: 'rows' });
    expect(Object.keys(first?.rows[0] ?? {})).toEqual(first?.columns.map(({ name }) => name));
    expect(first?.rows[1]).toMatchObject({
      ...{ name: 'n1', status: 'success', text: 'Text of https://1.example/', error_tag: null },
      ...{ cost_dollars: 0.001, fetched_at: '2026-11-20T10:00:00.000Z', row_number: 2 },
      response: { id: 'https://1.example/' },
    });
  });

  it('gives cells with types in one form, of which neither JSON nor JavaScript changes a value', async () => {
    const { batches, mine } = keeping();
    const { rows } = await open(record, { mine });
    const reader = tableReader([['https://a.com/1', ...typedValues.map(([, text]) => text)]]);
    await runJob(folder, rows, await stageText(folder, '', { reader }), new Service());
    const isJson = /^(BOOLEAN|TINYINT|INTEGER|FLOAT|DOUBLE|JSON|STRUCT|MAP)|\]$/;
    const expected = typedValues.map(([type, text]) =>
      isJson.test(type) && !/^-?(nan|inf)$/.test(text) ? (JSON.parse(text) as unknown) : text,
    );
    expect(typedValues.map((_, at) => batches[0]?.rows[0]?.[`c${at}`])).toEqual(expected);
    expect(batches[0]?.columns[5]).toEqual({ name: 'c4', type: 'BIGINT' });
  });

  it('gives a slice of large answers in several batches', async () => {
    const { batches, mine } = keeping();
    const { rows } = await open(record, { mine });
    const service = new Service((url) => ({ result: { id: url, url, text: url.padEnd(600_000, 'x') } }));
    await runJob(folder, rows, await stageText(folder, csv(40), { rowsPerSlice: 40 }), service);
    expect(batches.length).toBeGreaterThan(1);
    const numbers = batches.flatMap((batch) => batch.rows.map(({ row_number }) => row_number as number));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, row) => row + 1));
  });

  it('gives a failed batch again with its id, ten times, and then fails until the next run', async () => {
    const { batches, mine } = keeping(() => {
      if (batches.length <= 10) throw new Error('full, says postgres://me:pass@host/db');
    });
    const { rows } = await open(record, { mine });
    const staged = await stageText(folder, csv(3));
    await rows.openJob(staged.record, staged.files);
    const units = await buySlice(folder, rows, staged, 0, new Service());
    const load = () => rows.load(batchOf(staged, 0, units)).catch((error: unknown) => error);
    const errors: unknown[] = [];
    for (let attempt = 0; attempt < 10; attempt++) errors.push(await load());
    const isRetried = errors.map((error) => error instanceof ApplicationFailure && !error.nonRetryable);
    expect(isRetried).toEqual(errors.map((_, nth) => nth < 9));
    expect(errors.map((error) => (error as ApplicationFailure).nextRetryDelay).slice(0, 9)).toEqual(
      expect.arrayContaining([1250, 2500, 75_000]),
    );
    expect(String(errors[0])).toContain('(3 rows): its error is not shown, because it may contain a password');
    expect(errors[9]).toMatchObject({ name: 'WarehouseUnusable', errorCode: 'sink-failed' });
    expect(await rows.openJob(staged.record, staged.files)).toEqual([]);
    expect(await rows.unloadedSlices(staged.record)).toEqual([]);
    expect(new Set(batches.map(({ batchId }) => batchId)).size).toBe(1);
    expect(batches).toHaveLength(11);
    await load();
    await rows.unloadedSlices(staged.record);
    expect(batches).toHaveLength(11);
  });

  it.each([
    ['bought again', [3]],
    ['tried again', [2]],
    ['to be forgotten', []],
    ['replaced by another input', [1]],
  ])('keeps the rows of a batch when they are %s before another worker loads it', async (change, others) => {
    const down = keeping(() => Promise.reject(new Error('down')));
    const { rows, again } = await open(record, { mine: down.mine });
    let staged = await stageText(folder, csv(3));
    const { job, generation } = staged.record;
    const service = new Service((url) => (/[02]/.test(url) ? { status: 'error', error_tag: 'CRAWL_TIMEOUT' } : {}));
    service.now = Date.now() + 60_000;
    await expect(runJob(folder, rows, staged, service)).rejects.toThrow('down');
    const { batches, mine } = keeping();
    const later = (await again({ mine })) as RowWarehouse;
    service.now += 60_000;
    const keys = (await readSlice(staged.files[0] as string)).flatMap(({ k }) => k ?? []);
    const forget = (dryRun: boolean) => later.forget({ keys, badRows: [] }, dryRun);
    if (change === 'tried again') {
      await later.openRetry(job, { tags: ['CRAWL_TIMEOUT'], onlyFree: false }, 'unit');
      const units = await later.retryUnits(job, { from: 0, to: 1 });
      const answers = unitFile(
        folder,
        units.map(({ key, unit }) => service.buy(key, unit)),
      );
      await later.loadRetry({ job, generation, unitFiles: [answers], keys: units.map(({ key }) => key) });
    } else if (change === 'to be forgotten') {
      for (const dryRun of [true, false])
        await expect(forget(dryRun)).rejects.toThrow('has not loaded 1 batch of brands-1');
    } else {
      // The other input has lost the second row, and has a new one.
      if (change !== 'bought again') staged = await stageText(folder, csv(4).replace('n1,https://1.example/\n', ''));
      await runJob(folder, later, staged, service, change === 'bought again' ? { freshAfter: service.now } : {});
    }
    await later.unloadedSlices(staged.record);
    const { batchId } = down.batches[0] as SinkBatch;
    expect(batches.filter((batch) => batch.batchId === batchId)).toEqual(down.batches.slice(0, 1));
    expect(batches.filter((batch) => batch.batchId !== batchId).map((batch) => batch.rows.length)).toEqual(others);
    expect(await forget(false)).toBe(3);
  });

  it.each([[undefined], [['id']]])(
    'gives edited and added rows, and a new column, without a purchase (key %s)',
    async (key) => {
      const { batches, mine } = keeping();
      const { rows } = await open(record, { mine });
      const service = new Service();
      const given = async (header: string, lines: readonly string[]) => {
        batches.length = 0;
        const staged = await stageText(folder, [header, ...lines, ''].join('\n'), { key });
        await runJob(folder, rows, staged, service);
        await rows.unloadedSlices(staged.record);
        return batches.flatMap((batch) => batch.rows.map(({ name }) => name)).sort();
      };
      const lines = ['1', '2', '3', '4', '5', '6'].map((id) => `${id},n${id},https://${id}.example/`);
      expect(await given('id,name,url', lines)).toEqual(['n1', 'n2', 'n3', 'n4', 'n5', 'n6']);
      const edited = lines.with(1, '2,edited,https://2.example/');
      const added = [...edited, '7,n7,https://1.example/', '8,n8,https://8.example/'];
      expect(await given('id,name,url', added)).toEqual(['edited', 'n7', 'n8']);
      expect(await given('id,name,url', added)).toEqual([]);
      expect(await given('id,name,url', lines)).toEqual(['n2']);
      const wider = lines.slice(0, 4).map((line) => `${line},x`);
      expect(await given('id,name,url,city', wider)).toEqual(['n1', 'n2', 'n3', 'n4']);
      expect(batches[0]?.rows[0]).toMatchObject({ city: 'x', status: 'success' });
      expect(await given('id,name,url,town', wider)).toEqual(['n1', 'n2', 'n3', 'n4']);
      expect(service.asked).toHaveLength(7);
    },
  );

  it('ends a load that takes too long, also if it does not heed its signal', async () => {
    const signals: AbortSignal[] = [];
    const { mine } = keeping((_, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    const { rows } = await open(record, { mine: { ...mine, timeoutSeconds: 1 } });
    const staged = await stageText(folder, csv(3));
    await expect(runJob(folder, rows, staged, new Service())).rejects.toThrow('it took longer than 1 s');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('are refused before the first purchase if the worker has no such sink, and reads say where the rows are', async () => {
    const { rows, warehouses } = await open(record, { mime: keeping().mine });
    const staged = await stageText(folder, csv(3));
    const unknown = 'into: this worker has no sink mine. Did you mean sink:mime?';
    await expect(rows.openJob(staged.record, staged.files)).rejects.toThrow(unknown);
    const elsewhere = 'The rows of this job are in the sink mine, which searchflow does not read.';
    for (const read of [
      () => rows.exportCsv('brands-1', join(folder, 'out.csv')),
      () => rows.failedUnits('brands-1', { tags: [] }),
      () => rows.figures({ job: 'brands-1' } as never),
      () => warehouses.publisher({ into: 'sink:mine' }).check('x'),
    ])
      await expect(read()).rejects.toThrow(elsewhere);
    const { audit } = await warehouses.monitors.warehouse({ into: 'sink:mine' });
    const agentRuns = await warehouses.agentRuns.warehouse({ into: 'sink:mine' });
    for (const unfit of [() => audit.pausesOf('sandbox', 'x'), () => agentRuns.marks('sandbox')])
      await expect(unfit()).rejects.toThrow('takes rows, events and runs of monitors. Name a warehouse');
  });
});
