import { deepStrictEqual, ok } from 'node:assert';
import { randomUUID } from 'node:crypto';
import type { Sink, SinkBatch, SinkColumn, SinkRow } from '#searchflow/core/rows/sink.js';

/** An empty sink for one test. */
export interface SinkUnderTest {
  readonly sink: Sink;
  /** All rows that the sink has loaded from batches of this table, in any order, each with the values that it was given. */
  rows(table: SinkBatch['table']): Promise<readonly SinkRow[]>;
  /** Removes what the test has made. */
  close?(): Promise<void> | void;
}

/** Longest time in ms that a load may take after its signal has aborted. */
const ABORTED_MS = 10_000;

const columns: readonly SinkColumn[] = [
  { name: 'id', type: 'text' },
  { name: 'a "name"', type: 'text' },
  { name: 'score', type: 'number' },
  { name: 'is_new', type: 'boolean' },
  { name: 'fetched_at', type: 'time' },
  { name: 'response', type: 'json' },
];

const rowOf = (id: string, text = `It's "${id}",\n\tété 🙂 \\ $1`): SinkRow => ({
  ...{ id, 'a "name"': text, score: 0.1, is_new: true, fetched_at: '2026-01-31T12:00:00.000Z' },
  response: { list: [1, null, { deep: text }], empty: {} },
});
const emptyRow = (id: string): SinkRow => ({
  ...{ id, 'a "name"': null, score: null, is_new: null, fetched_at: null, response: null },
});

function batchOf(rows: readonly SinkRow[], table: SinkBatch['table'] = 'rows'): SinkBatch {
  return { job: 'brands-3f9a1c', table, batchId: randomUUID(), columns, rows };
}

const numbered = (count: number, prefix: string, text?: string) =>
  Array.from({ length: count }, (_, nth) => rowOf(`${prefix}-${nth}`, text));

/**
 * The contract of a `Sink`: what its `load` must do so that no row is lost and none is there twice. `it` declares a test: that of vitest, jest
 * or `node:test`. `make` returns an empty sink for each test.
 */
export function sinkContract(
  it: (name: string, test: () => Promise<void>) => unknown,
  make: () => Promise<SinkUnderTest> | SinkUnderTest,
): void {
  /** Declares a test with an empty sink. */
  const test = (
    name: string,
    work: (load: (batch: SinkBatch, signal?: AbortSignal) => Promise<void>, made: SinkUnderTest) => Promise<void>,
  ) =>
    it(name, async () => {
      const made = await make();
      try {
        await work(async (batch, signal = new AbortController().signal) => made.sink.load(batch, { signal }), made);
      } finally {
        await made.close?.();
      }
    });
  const has = async ({ rows }: SinkUnderTest, expected: readonly SinkRow[], table: SinkBatch['table'] = 'rows') => {
    const byId = (some: readonly SinkRow[]) => [...some].sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
    deepStrictEqual(byId(await rows(table)), byId(expected));
  };

  test('a sink keeps the values of a batch', async (load, made) => {
    const batch = batchOf([rowOf('1'), emptyRow('2'), rowOf('3', '')]);
    await load(batch);
    await has(made, batch.rows);
  });

  test('a sink loads a batch once, also if the batch comes again after others', async (load, made) => {
    const [one, two] = [batchOf(numbered(20, 'one')), batchOf(numbered(20, 'two'))];
    for (const batch of [one, one, two, one]) await load(batch);
    await has(made, [...one.rows, ...two.rows]);
  });

  test('a sink loads a batch once, also if two workers give it at the same time', async (load, made) => {
    const batch = batchOf(numbered(200, 'row'));
    // One of two loads at the same time may fail, and then comes again.
    const both = await Promise.allSettled([load(batch), load(batch)]);
    ok(both.some(({ status }) => status === 'fulfilled'));
    await load(batch);
    await has(made, batch.rows);
  });

  test('a sink takes batches in any order and several at once, of each table', async (load, made) => {
    const rows = Array.from({ length: 6 }, (_, nth) => batchOf(numbered(10, `batch-${nth}`)));
    const events = batchOf(numbered(10, 'event'), 'events');
    await Promise.all([...rows.reverse(), events].map((batch) => load(batch)));
    await has(
      made,
      rows.flatMap((batch) => batch.rows),
    );
    await has(made, events.rows, 'events');
  });

  test('a sink keeps equal rows of different batches', async (load, made) => {
    const rows = numbered(3, 'same');
    await load(batchOf(rows));
    await load(batchOf(rows));
    await has(made, [...rows, ...rows]);
  });

  test('a sink loads 5,000 rows of 2 KB', async (load, made) => {
    const batch = batchOf(numbered(5000, 'large', 'x'.repeat(1000)));
    await load(batch);
    await has(made, batch.rows);
  });

  test('a sink ends an aborted load, and loads the batch once when it comes again', async (load, made) => {
    const batch = batchOf(numbered(2000, 'row', 'x'.repeat(500)));
    for (const afterMs of [0, 5, 30]) {
      const abort = new AbortController();
      const started = performance.now();
      setTimeout(() => abort.abort(new Error('time is up')), afterMs);
      await load(batch, abort.signal).catch(() => undefined);
      ok(performance.now() - started < ABORTED_MS, 'the load did not end');
    }
    await load(batch);
    await has(made, batch.rows);
  });
}
