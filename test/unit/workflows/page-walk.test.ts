import { describe, expect, it } from 'vitest';
import type { OpenedWalk, WalkWindowResult } from '../../../src/core/events/walk-job.js';
import {
  figuresOf,
  nextRun,
  openedState,
  type PageWalkState,
  stoppedBefore,
  withResult,
} from '../../../src/workflows/page-walk.js';

const counts = (pages: number, events: number, added: number, changed: number) => ({ pages, events, added, changed });
const walk = { origin: 'sandbox', stream: 'sync', into: 'events.duckdb', types: [] };
const opened: OpenedWalk = {
  ...{ walk, windows: [4, 2, 3], continues: true, lengthMs: 1000, doneMs: 400 },
  before: counts(10, 20, 15, 5),
};
const at = { startedAt: 50, now: 900, paused: null };
const state = (changes: Partial<PageWalkState> = {}): PageWalkState => ({
  ...openedState({ kind: 'sync' }, opened, at),
  ...changes,
});

describe('the state of an opened walk', () => {
  it('has the windows that are left, and counts only its own work', () => {
    expect(state()).toMatchObject({
      ...{ queue: [[2, 4]], continues: true, before: counts(10, 20, 15, 5), paused: null, windowsDone: 0 },
      ...{ startedAt: 50, openedAt: 900, resumedAt: 900, lengthMs: 1000, doneMs: 400, doneBeforeMs: 400 },
      ...counts(0, 0, 0, 0),
    });
    const pause = { reason: 'person', message: 'paused by a person' } as const;
    const paused = openedState({ kind: 'sync' }, { ...opened, continues: false }, { ...at, paused: pause });
    expect(paused).toMatchObject({ paused: pause, continues: false });
    // A backfill never has a further run.
    expect(openedState({ kind: 'backfill' }, opened, at).continues).toBe(false);
  });

  it('counts the results of windows, and its length follows parts and empty windows', () => {
    const result = (changes: Partial<WalkWindowResult>): WalkWindowResult => ({
      ...{ ...counts(2, 6, 4, 1), done: false, parts: [], lengthMs: 100, partsMs: 0 },
      ...changes,
    });
    const now = state({ ...counts(1, 1, 1, 1), windowsDone: 3 });
    expect(withResult(now, result({}))).toEqual({ ...counts(3, 7, 5, 2), windowsDone: 3, doneMs: 400, lengthMs: 1000 });
    expect(withResult(now, result({ done: true }))).toMatchObject({ windowsDone: 4, doneMs: 500, lengthMs: 1000 });
    expect(withResult(now, result({ done: true, events: 0 }))).toMatchObject({ doneMs: 400, lengthMs: 900 });
    expect(withResult(now, result({ parts: [5, 6], partsMs: 130 }))).toMatchObject({
      ...{ windowsDone: 3, doneMs: 400, lengthMs: 1030 },
    });
  });

  it('begins its next run at the present, and counts both runs from where the first began', () => {
    const brought = counts(1, 2, 3, 4);
    // The next run counts its pages from its own beginning. So the pages of this run are subtracted from the counts before it.
    const next = nextRun(state({ openedAt: 5000, lengthMs: 70, doneMs: 30, doneBeforeMs: 10 }), brought);
    expect(next).toEqual({
      ...{ before: counts(9, 18, 12, 1), continues: false, openedAt: 5000 },
      ...{ lengthMs: 70, doneMs: 30, doneBeforeMs: 30 },
    });
  });
});

describe('the figures of a walk', () => {
  it('are empty before it is opened', () => {
    expect(figuresOf(null, 0, 1000)).toMatchObject({ stream: '', windows: 0, share: null, etaMs: null, pages: 0 });
  });

  it('estimate the end from what this run has done, once that is a tenth of its work', () => {
    const figures = (doneMs: number) => figuresOf(state({ doneMs, windowsDone: 2, ...counts(4, 3, 2, 1) }), 5, 350);
    expect(figures(700)).toEqual({
      ...{ stream: 'sync', windows: 7, windowsDone: 2, share: 0.7, lengthMs: 1000, ...counts(4, 3, 2, 1) },
      // This run did 300 of its 600 in 300 ms, so the other 300 take as long.
      etaMs: 300,
    });
    expect([figures(400).etaMs, figures(459).etaMs, figures(460).etaMs]).toEqual([null, null, 2700]);
    expect(figuresOf(state({ lengthMs: 0, doneMs: 0 }), 1, 350).share).toBeNull();
  });

  it('are zero for a scheduled run that the service refused', () => {
    expect(stoppedBefore({ kind: 'sync' }, 'no credits')).toMatchObject({
      ...{ stream: 'sync', phase: 'stopped', message: 'no credits', watermark: null, windows: 0, seconds: 0 },
    });
  });
});
