import { expect, it, onTestFinished } from 'vitest';
import type { BatchRun } from '#searchflow/core/monitors/monitor-batch.js';
import type { RawRecord } from '#searchflow/core/monitors/monitor-warehouse.js';
import type { MonitorState } from '#searchflow/core/workflow-result-schemas.js';
import { type MakeWarehouse, makeInFolder } from './warehouse-under-test.js';

const origin = 'https://service.example';
const run: BatchRun = { origin, job: 'pause-1', run: 'run-1' };
const record = { ...run, action: 'pause', filter: { name: 'growth' }, by: 'Ann', at: 1000 };
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

const states = (count: number, status = 'active'): MonitorState[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `${status}-${String(index).padStart(4, '0')}`,
    name: `It's "${index}"`,
    status,
    updatedAt: at(index),
    definition: `digest-${index}`,
  }));

const call = (number: number, ids: readonly string[], answered = true) => ({
  call: number,
  requestId: answered ? `request-${number}` : null,
  at: 2000 + number,
  answered,
  ids,
});

/**
 * The contract of `MonitorWarehouse`: the audit of batches, the pauses of schedules, monitors and their runs. `make` returns an empty
 * warehouse for each test.
 */
export function monitorContract(make: MakeWarehouse): void {
  async function opened() {
    const made = await makeInFolder(make);
    onTestFinished(() => made.remove());
    return { warehouse: made.monitors, query: made.objects };
  }

  it('the audit holds a line for each of 1,200 monitors, with its call and the effect', async () => {
    const { warehouse, query } = await opened();
    const { audit } = warehouse;
    const planned = states(1200);
    await audit.plan(record, planned, states(3, 'paused'));
    await audit.decide(run, { by: 'Bob', why: 'quarter end', approved: true, at: 1500 });
    await audit.begin(run, 'Bob');
    const ids = planned.map(({ id }) => id);
    for (let number = 1; number <= 3; number++) {
      expect(await audit.record(run, call(number, ids.slice(400 * (number - 1), 400 * number)))).toEqual({
        planned: 400,
        unplanned: [],
      });
    }
    expect(await audit.monitors(run, 'pending')).toEqual([]);
    const effects = planned.map((before) => ({
      ...{ id: before.id, name: before.name, kind: 'affected' as const, before, note: null },
      after: { ...before, status: 'paused', updatedAt: at(5000) },
    }));
    await audit.finish(run, { phase: 'done', at: 3000, effects });
    expect(
      await query(
        `SELECT effect, planned, approved_by, before_status, after_status, request_id, CAST(count(*) AS INTEGER) AS n
         FROM monitor_actions GROUP BY ALL_OF_THESE ORDER BY request_id`.replace('ALL_OF_THESE', '1, 2, 3, 4, 5, 6'),
      ),
    ).toMatchObject([
      ...[1, 2, 3].map((number) => ({
        ...{ effect: 'affected', approved_by: 'Bob', before_status: 'active', after_status: 'paused' },
        ...{ request_id: `request-${number}`, n: 400 },
      })),
      { effect: 'already', before_status: 'paused', after_status: null, request_id: null, n: 3 },
    ]);
    expect(await query('SELECT phase, decided_by, decided_why FROM monitor_batches')).toEqual([
      { phase: 'done', decided_by: 'Bob', decided_why: 'quarter end' },
    ]);
  });

  it('a call that is recorded twice counts once, and a call without a new effect is reported', async () => {
    const { warehouse } = await opened();
    const { audit } = warehouse;
    const planned = states(4);
    const ids = planned.map(({ id }) => id);
    await audit.plan(record, planned, []);
    const fresh = (planned: number) => ({ planned, unplanned: [] });
    expect(await audit.record(run, call(1, ids.slice(0, 2)))).toEqual(fresh(2));
    expect(await audit.record(run, call(1, ids.slice(0, 2)))).toEqual(fresh(2));
    expect((await audit.monitors(run, 'all')).map(({ again }) => again)).toEqual([false, false, false, false]);
    expect(await audit.record(run, call(2, ids.slice(0, 1)))).toEqual(fresh(0));
    expect(await audit.record(run, call(3, ids.slice(2, 3), false))).toEqual(fresh(1));
    expect(await audit.monitors(run, 'all')).toEqual(
      planned.map((one, index) => ({ ...one, planned: true, ours: index < 3, again: index === 0 })),
    );
    expect((await audit.monitors(run, 'pending')).map(({ id }) => id)).toEqual([ids[3]]);
  });

  it('a monitor that is in no plan is recorded once when a call affects it', async () => {
    const { warehouse, query } = await opened();
    const { audit } = warehouse;
    await audit.plan(record, states(1), states(1, 'paused'));
    await audit.decide(run, { by: 'Bob', approved: true, at: 1500 });
    const fresh = { planned: 0, unplanned: ['paused-0000', 'stranger'] };
    expect(await audit.record(run, call(1, ['stranger', 'paused-0000']))).toEqual(fresh);
    expect(await audit.record(run, call(1, ['stranger', 'paused-0000']))).toEqual(fresh);
    const all = await audit.monitors(run, 'all');
    expect(all.map(({ id, planned, ours }) => [id, planned, ours])).toEqual([
      ['active-0000', true, false],
      ['paused-0000', false, true],
      ['stranger', false, true],
    ]);
    expect(await query(`SELECT action, approved_by FROM monitor_actions WHERE monitor_id = 'stranger'`)).toEqual([
      { action: 'pause', approved_by: 'Bob' },
    ]);
  });

  it('a plan is replaced until the first call, and other runs keep theirs', async () => {
    const { warehouse } = await opened();
    const { audit } = warehouse;
    await audit.plan({ ...record, run: 'another' }, states(7), []);
    await audit.plan(record, states(5), []);
    await audit.plan(record, states(2), []);
    expect(await audit.monitors(run, 'all')).toHaveLength(2);
    await audit.record(run, call(1, ['active-0000']));
    await audit.plan(record, states(5), []);
    expect(await audit.monitors(run, 'all')).toHaveLength(2);
    expect(await audit.monitors({ ...run, run: 'another' }, 'all')).toHaveLength(7);
  });

  it('pauses of a schedule are found again, with what others recorded of these monitors, and the ends of schedules', async () => {
    const { audit } = (await opened()).warehouse;
    const batchOf = async (name: string, at: number, schedule: string | undefined, toDo: number, already: number) => {
      const batch = { ...run, run: name };
      await audit.plan(
        { ...record, run: name, action: 'pause', at, schedule },
        states(toDo),
        states(already, 'paused'),
      );
      await audit.decide(batch, { by: 'Ann', approved: true, at });
      return batch;
    };
    const nights = await batchOf('nights', 1000, 'nights', 2, 0);
    expect(await audit.pausesOf(origin, 'nights')).toEqual({ pauses: [], ends: new Map() });
    await audit.begin(nights, 'Ann');
    await audit.record(nights, call(1, ['active-0000']));
    const [before] = states(1);
    const pause = {
      id: 'active-0000',
      schedule: 'nights',
      at: 1000,
      already: false,
      before: before?.updatedAt,
      after: null,
    };
    expect((await audit.pausesOf(origin, 'nights')).pauses).toEqual([pause]);
    expect((await audit.pausesOf(origin, 'holidays')).pauses).toEqual([]);
    const after = { ...(before as MonitorState), status: 'paused', updatedAt: at(9) };
    const effects = [{ id: 'active-0000', name: null, kind: 'affected', before: after, after, note: null } as const];
    await audit.finish(nights, { phase: 'done', at: 1100, effects });
    // A batch that nobody approved wants nothing.
    await batchOf('asked', 1200, undefined, 0, 1);
    await audit.plan({ ...record, run: 'end', action: 'unpause', at: 2000, schedule: 'nights' }, [], []);
    expect(await audit.pausesOf(origin, 'nights')).toEqual({
      pauses: [{ ...pause, after: at(9) }],
      ends: new Map([['nights', 2000]]),
    });
  });

  const runRecord = (id: string, changes: object = {}): RawRecord => ({
    id,
    monitorId: 'm1',
    status: 'completed',
    output: {
      results: [
        {
          id: 'r1',
          url: 'https://a.example/',
          title: 'A',
          publishedDate: '2026-01-01',
          text: 'NUL \u0000 and half \ud800',
        },
        { id: 'r2', url: 'https://b.example/', strange: [1] },
      ],
      content: { answer: 42 },
    },
    failReason: null,
    createdAt: at(1),
    completedAt: at(2),
    durationMs: 1234.4,
    unheardOf: true,
    ...changes,
  });

  it('[71] records with odd ids and figures are loaded, and replaced when loaded again', async () => {
    const { warehouse, query } = await opened();
    const { runs } = warehouse;
    const odd = runRecord('run\ud800\0', { durationMs: 1e300, createdAt: '2026-01-01T10:00', completedAt: 'May 1' });
    for (let times = 0; times < 2; times++) {
      await runs.loadMonitors(origin, `export-${times}`, [{ id: 'm\ud800\0', name: 'n\ud800', createdAt: 'now' }]);
      await runs.loadRuns(origin, `export-${times}`, 'm1', [odd]);
    }
    const found = await query(
      'SELECT duration_ms, CAST(EXTRACT(epoch FROM created_at) AS INTEGER) AS created, completed_at FROM monitor_runs',
    );
    expect(found).toEqual([{ duration_ms: null, created: Date.UTC(2026, 0, 1, 10) / 1000, completed_at: null }]);
    expect(await query('SELECT name FROM monitors')).toEqual([{ name: 'n\\ud800' }]);
    expect(await runs.counts(origin, 'export-1')).toMatchObject({ again: 1, results: 2 });
  });

  it('keeps records with ids of any length apart, and reads each by its own id', async () => {
    const { warehouse, query } = await opened();
    const { runs, audit } = warehouse;
    const long = (end: string) =>
      Array.from({ length: 5000 }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000))).join('') + end;
    for (let times = 0; times < 2; times++) {
      await runs.loadMonitors(origin, 'export-1', [{ id: long('a') }, { id: long('b') }]);
      await runs.loadRuns(origin, `export-${times}`, long('a'), [runRecord(long('a')), runRecord(long('b'))]);
    }
    expect(await runs.unread(origin, 'export-1', 10)).toEqual(expect.arrayContaining([long('a'), long('b')]));
    await runs.endRuns(origin, 'export-1', long('a'));
    expect(await runs.unread(origin, 'export-1', 10)).toEqual([long('b')]);
    expect(await runs.knownRuns(origin, long('a'))).toHaveLength(2);
    expect(await query('SELECT CAST(count(*) AS INTEGER) AS n FROM monitor_run_results')).toEqual([{ n: 4 }]);
    await audit.plan(
      record,
      states(1).map((state) => ({ ...state, id: long('a') })),
      [],
    );
    expect(await audit.record(run, call(1, [long('a')]))).toEqual({ planned: 1, unplanned: [] });
  });

  it('runs are rows with their results; they are replaced when loaded again, and unfinished ones stay open', async () => {
    const { warehouse, query } = await opened();
    const { runs } = warehouse;
    await runs.loadMonitors(origin, 'export-1', [
      {
        id: 'm1',
        name: 'One',
        status: 'active',
        search: { query: 'news' },
        metadata: { team: 'growth' },
        createdAt: at(0),
      },
      { id: 'm2', name: null, status: 'paused' },
    ]);
    await runs.endMonitors(origin, 'export-1', 0);
    expect(await runs.unread(origin, 'export-1', 10)).toEqual(['m1', 'm2']);
    const unfinished = runRecord('run-2', { status: 'running', output: null, completedAt: null });
    await runs.loadRuns(origin, 'export-1', 'm1', [runRecord('run-1'), unfinished]);
    expect(await runs.counts(origin, 'export-1')).toEqual({ read: 0, added: 2, again: 0, results: 2 });
    expect(await runs.knownRuns(origin, 'm1')).toEqual(
      expect.arrayContaining([
        { id: 'run-1', over: true, reached: false },
        { id: 'run-2', over: false, reached: false },
      ]),
    );
    await runs.endRuns(origin, 'export-1', 'm1');
    for (let times = 0; times < 2; times++) await runs.loadRuns(origin, 'export-2', 'm1', [runRecord('run-2')]);
    expect(await runs.counts(origin, 'export-2')).toEqual({ read: 0, added: 0, again: 1, results: 2 });
    expect((await runs.counts(origin, 'export-1')).read).toBe(1);
    expect(await runs.knownRuns(origin, 'm1')).toEqual(
      expect.arrayContaining(['run-1', 'run-2'].map((id) => ({ id, over: true, reached: true }))),
    );
    expect(await runs.unread(origin, 'export-1', 10)).toEqual(['m2']);
    // If a page of monitors is loaded twice in one export, a monitor whose runs were read stays marked as read.
    await runs.loadMonitors(origin, 'export-1', [{ id: 'm1' }]);
    expect(await runs.unread(origin, 'export-1', 10)).toEqual(['m2']);
    expect(
      await query(
        'SELECT run_id, CAST(rank AS INTEGER) AS rank, url, title FROM monitor_run_results ORDER BY run_id, rank',
      ),
    ).toEqual([
      { run_id: 'run-1', rank: 1, url: 'https://a.example/', title: 'A' },
      { run_id: 'run-1', rank: 2, url: 'https://b.example/', title: null },
      { run_id: 'run-2', rank: 1, url: 'https://a.example/', title: 'A' },
      { run_id: 'run-2', rank: 2, url: 'https://b.example/', title: null },
    ]);
    expect(
      await query('SELECT content, CAST(duration_ms AS INTEGER) AS ms, status FROM monitor_runs ORDER BY id'),
    ).toEqual([
      { content: '{"answer":42}', ms: 1234, status: 'completed' },
      { content: '{"answer":42}', ms: 1234, status: 'completed' },
    ]);
  });

  it('a monitor that a later export of all monitors does not list is gone; its runs stay', async () => {
    const { warehouse, query } = await opened();
    const { runs } = warehouse;
    await runs.loadMonitors(origin, 'export-1', [{ id: 'm1' }, { id: 'm2' }]);
    await runs.loadRuns(origin, 'export-1', 'm2', [runRecord('run-1')]);
    await runs.loadMonitors(origin, 'export-2', [{ id: 'm1' }]);
    await runs.endMonitors(origin, 'export-2', null);
    expect(await query('SELECT id FROM monitors WHERE gone_at IS NOT NULL')).toEqual([]);
    // Here `export-2` began a minute ago, and `export-1` has listed the monitor since then, so the monitor is not marked as gone.
    await runs.endMonitors(origin, 'export-2', Date.now() - 60_000);
    expect(await query('SELECT id FROM monitors WHERE gone_at IS NOT NULL')).toEqual([]);
    await runs.endMonitors(origin, 'export-2', Date.now() + 1000);
    expect(await query('SELECT id FROM monitors WHERE gone_at IS NOT NULL')).toEqual([{ id: 'm2' }]);
    expect(await query('SELECT id FROM monitor_runs')).toEqual([{ id: 'run-1' }]);
  });
}
