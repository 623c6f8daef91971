import { describe, expect, it } from 'vitest';
import { afterCall, batchProblem, limitOfCall } from '../../../src/core/monitors/monitor-batch.js';
import {
  contradiction,
  filterOfCalls,
  filterWithoutStatus,
  isDone,
  sortMonitors,
} from '../../../src/core/monitors/monitor-effect.js';
import { isPausedBy, type ScheduledPause } from '../../../src/core/monitors/scheduled-pauses.js';
import type { BatchMonitorsInput } from '../../../src/core/workflow-input-schemas.js';
import type { MonitorState } from '../../../src/core/workflow-result-schemas.js';

const monitor = (id: string, status: string) => ({ id, status }) as MonitorState;
const [active, paused, disabled] = ['active', 'paused', 'disabled'].map((status) => monitor(status, status)) as [
  MonitorState,
  MonitorState,
  MonitorState,
];

describe('a batch', () => {
  const input = (changes: object) =>
    batchProblem({ action: 'pause', filter: { name: 'x' }, ...changes } as BatchMonitorsInput);

  it.each([
    [{}, null],
    [{ filter: { status: 'active' } }, null],
    [{ action: 'unpause', filter: { status: 'paused' }, limit: 500 }, null],
    [{ action: 'delete', filter: { status: 'disabled' }, limit: 1, approval: { by: 'me' } }, null],
    [{ filter: {} }, 'a batch never covers all monitors'],
    [{ filter: { metadata: {} } }, 'a batch never covers all monitors'],
    [{ filter: { name: 'a', metadata: JSON.parse('{"__proto__":"x"}') } }, '__proto__'],
    [{ filter: { name: 'a', metdata: { team: 'growth' } } }, 'metdata'],
    [{ filter: { status: 'paused' } }, 'pause only changes active monitors'],
    [{ action: 'unpause', filter: { status: 'active' } }, 'unpause only changes paused monitors'],
    [{ action: 'delete', approval: 'none' }, 'approval must not be none for a deletion'],
  ])('of %j: %s', (changes, problem) => {
    expect(input(changes)).toEqual(problem === null ? null : expect.stringContaining(problem));
  });

  it('acts on monitors of one status, and leaves disabled ones alone', () => {
    const all = [active, paused, disabled];
    expect(sortMonitors('pause', all)).toEqual({ toDo: [active], already: [paused], left: [disabled] });
    expect(sortMonitors('unpause', all)).toEqual({ toDo: [paused], already: [active], left: [disabled] });
    expect(sortMonitors('delete', all)).toEqual({ toDo: all, already: [], left: [] });
    expect(['pause', 'unpause', 'delete'].map((action) => filterOfCalls(action as 'pause', { name: 'x' }))).toEqual([
      { name: 'x', status: 'active' },
      { name: 'x', status: 'paused' },
      { name: 'x' },
    ]);
    expect(filterWithoutStatus({ name: 'x', status: 'active', metadata: { a: 'b' } })).toEqual({
      name: 'x',
      metadata: { a: 'b' },
    });
    expect([isDone('pause', paused), isDone('pause', active), isDone('unpause', active)]).toEqual([true, false, true]);
    expect([isDone('delete', null), isDone('delete', paused), isDone('pause', null)]).toEqual([true, false, false]);
  });

  it('must agree with its dry run, as far as that has data', () => {
    const contradictionOf = (changes: object) =>
      contradiction([active, paused], { ids: null, affected: null, hasMore: null, ...changes });
    expect([
      contradictionOf({}),
      contradictionOf({ affected: 2 }),
      contradictionOf({ ids: ['active', 'paused'] }),
    ]).toEqual([null, null, null]);
    expect(contradictionOf({ affected: 1, hasMore: true })).toBeNull();
    expect(contradictionOf({ affected: 1 })).toBe('the dry run has 1 monitor(s), the list 2');
    expect(contradictionOf({ affected: 3, hasMore: true })).toContain('has 3');
    expect(contradictionOf({ ids: ['active', 'other'] })).toContain('has 1 monitor(s) that the list lacks');
  });

  it('deletes only the approved number, and uses the maximum of a call for other actions', () => {
    expect([limitOfCall('delete', 100, 150, 100), limitOfCall('delete', 100, 150, 0)]).toEqual([50, 100]);
    expect([limitOfCall('delete', 100, 5, 5), limitOfCall('pause', 100, 5, 5)]).toEqual([1, 100]);
  });

  it.each([
    ['pause', { answered: false }, 9, 'again'],
    ['pause', { hasMore: false }, 0, 'done'],
    ['pause', { hasMore: true }, 1, 'again'],
    ['pause', { hasMore: true, fresh: 0 }, 2, 'stuck'],
    ['pause', { hasMore: null, fresh: 0 }, 1, 'done'],
    ['pause', { hasMore: null, fresh: 1 }, 0, 'again'],
    ['pause', { hasMore: false, unplanned: 1 }, 0, 'done'],
    ['delete', { hasMore: false, unplanned: 1 }, 0, 'beyond'],
  ] as const)('after a %s call of %j and %d idle ones: %s', (action, effect, idle, next) => {
    const call = { answered: true, fresh: 3, unplanned: 0, stranger: null, hasMore: true, ...effect };
    expect(afterCall(action, call, idle)).toBe(next);
  });
});

describe('an unpause of what the schedule nights paused', () => {
  const now = (changes: object = {}) => ({
    ...{ id: 'm1', name: 'daily', status: 'paused', updatedAt: 't2', definition: null },
    ...changes,
  });
  const pause = (changes: Partial<ScheduledPause> = {}): ScheduledPause => ({
    ...{ id: 'm1', schedule: 'nights', at: 1, already: false, before: 't1', after: 't2' },
    ...changes,
  });
  const found = (at: number, schedule: string | null) =>
    pause({ at, schedule, already: true, before: 't2', after: null });
  it.each<[string, boolean, readonly ScheduledPause[], object?, (readonly [string, number][])?]>([
    ['it paused the monitor', true, [pause()]],
    ['the monitor is active', false, [pause()], { status: 'active' }],
    ['the monitor was changed', false, [pause()], { updatedAt: 't3' }],
    ['the batch has no end, and the monitor changed since its plan', true, [pause({ after: null })]],
    ['the batch has no end, and its call did nothing', false, [pause({ after: null, before: 't2' })]],
    ['another monitor was paused', false, [pause({ id: 'm2' })]],
    ['a person paused the monitor', false, [pause({ schedule: null })]],
    ['a person paused the monitor before', false, [pause({ schedule: null, at: 0 }), found(1, 'nights')]],
    ['a person wants it paused, too', false, [pause(), found(2, null)]],
    ['a person wanted an earlier pause', true, [pause(), { ...found(0, null), before: 't0' }]],
    ['another schedule wants it paused, too', false, [pause(), found(2, 'holidays')]],
    ['the other schedule has ended', true, [pause(), found(2, 'holidays')], {}, [['holidays', 3]]],
    ['the other schedule paused it first', false, [pause({ schedule: 'holidays' }), found(2, 'nights')]],
    [
      'that other schedule has ended',
      true,
      [pause({ schedule: 'holidays' }), found(2, 'nights')],
      {},
      [['holidays', 3]],
    ],
    ['the other schedule ended before its pause', false, [pause(), found(2, 'holidays')], {}, [['holidays', 1]]],
  ])('%s: %s', (_what, expected, pauses, changes = {}, ends = []) => {
    expect(isPausedBy('nights', { pauses, ends: new Map(ends) }, now(changes))).toBe(expected);
  });
});
