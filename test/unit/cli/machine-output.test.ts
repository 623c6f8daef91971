import { describe, expect, it } from 'vitest';
import { endText, eventText, outputText, runsText, snapshotText } from '../../../src/cli/agents.js';
import { planData } from '../../../src/cli/progress/plan.js';
import { pausedData, summaryData } from '../../../src/cli/progress/summary.js';
import { runText, scheduleData, schedulesText, scheduleText } from '../../../src/cli/schedules.js';
import type { AgentRunResult, ScheduledRun } from '../../../src/core/workflow-result-schemas.js';
import type { ScheduleView } from '../../../src/worker/schedules/schedule-view.js';
import { plan, progress, summary } from '../../support/cli/fake-runtime.js';

// Every field has a value of its own, so that a swapped field or unit is detected.
const at = Date.UTC(2026, 10, 21, 6);
const iso = '2026-11-21T06:00:00.000Z';

describe('the output of --json', () => {
  it('of a plan', () => {
    const whole = {
      ...{ ...plan, alreadyBought: 11, toBuy: 12, requests: 13, estimateMicros: 14_000, seconds: 15, perSecond: 16 },
      request: { ...plan.request, maxCostDollars: 0.017 },
      estimateIsMost: true,
      notes: ['a note'],
      allowedMicros: 90_000,
      staged: { ...plan.staged, limit: 18, rows: 19, badRows: 20, distinctUnits: 21 },
      badRows: [{ row: 1, tag: 'T', message: 'm' }],
      limitedBadRows: 22,
      rest: { rows: 23, toBuy: 24, requests: 25, estimateMicros: 26_000 },
      urlCells: { by: 'name', filled: 27, urls: 28, withoutScheme: 29 } as const,
    };
    expect(planData(whole, { service: 'live', origin: 'https://api.exa.ai' })).toEqual({
      ...{ kind: 'plan', job: 'brands-1', name: 'brands', service: 'live', origin: 'https://api.exa.ai' },
      ...{ operation: 'contents', status: 'new', rows: 19, limit: 18, distinctUrls: 23, alreadyBought: 11 },
      ...{ badRows: 22, toBuy: 12, requests: 13, dollars: 0.014, dollarsAreMost: true, maxDollars: 0.017, seconds: 15 },
      stopAtFailed: null,
      redrive: false,
      publish: null,
      rest: { rows: 23, toBuy: 24, requests: 25, dollars: 0.026 },
      urlColumn: { name: 'source', by: 'name', filled: 27, urls: 28, withoutScheme: 29 },
      ...{ into: '/data/out/brands.duckdb', notes: ['a note'], badRowExamples: [{ row: 1, tag: 'T', message: 'm' }] },
    });
    const plain = planData(
      { ...plan, staged: { ...plan.staged, operation: 'search' } },
      { service: 'sandbox', origin: 'sandbox' },
    );
    expect(plain).toMatchObject({
      limit: null,
      rest: null,
      urlColumn: null,
      maxDollars: null,
      badRows: 0,
      distinctRequests: 200,
    });
  });

  it('of a summary', () => {
    const whole = {
      ...summary,
      limit: 2,
      requests: 3,
      costMicros: 4000,
      totalCostMicros: 5000,
      estimateMicros: 6000,
      seconds: 7,
      unknownOutcomes: 1,
      warehouse: {
        rows: 8,
        success: 9,
        error: 10,
        invalid: 11,
        missing: 12,
        vanished: 13,
        tags: { T: 14 },
        misfits: { size: 16 },
      },
    };
    const outcome = {
      book: 'b',
      operation: 'contents',
      keys: ['k', 'l'],
      intendedAt: at,
      reason: 'reset',
      estimateMicros: 15_000,
    };
    const ending = {
      summary: whole,
      unknown: [outcome, outcome],
      bill: { micros: 16_000, requests: 17 },
      csv: '/out.csv',
      origin: 'sandbox',
      ...{ badRows: [{ row: 1, tag: 'T', message: 'm' }], ran: true },
      plan: { ...plan, rest: { rows: 18, toBuy: 19, requests: 20, estimateMicros: 21_000 } },
    };
    expect(summaryData(ending)).toEqual({
      ...{ kind: 'summary', job: 'brands-1', name: 'brands', phase: 'done', origin: 'sandbox', rows: 8, limit: 2 },
      ...{ byStatus: { success: 9, error: 10, invalid: 11, missing: 12, vanished: 13 }, tags: { T: 14 }, requests: 3 },
      misfits: { size: 16 },
      discarded: 0,
      retried: { units: 0, failedAgain: 0 },
      schemaChanges: [],
      published: null,
      dollars: 0.004,
      estimatedDollars: 0.006,
      totalDollars: 0.005,
      sandboxBill: { dollars: 0.016, requests: 17 },
      unknownOutcomes: 2,
      unknownDollars: 0.03,
      unknownOutcomeExamples: [1, 2].map(() => ({
        operation: 'contents',
        urls: 2,
        at: iso,
        dollarsAtMost: 0.015,
        reason: 'reset',
      })),
      warnings: [],
      badRowExamples: [{ row: 1, tag: 'T', message: 'm' }],
      rest: { rows: 18, toBuy: 19, requests: 20, dollars: 0.021 },
      ...{ into: '/data/out/brands.duckdb', csv: '/out.csv', seconds: 7 },
    });
  });

  it('of a paused job', () => {
    const waits = {
      ...progress,
      phase: 'paused',
      pausedFor: 'budget',
      message: 'm',
      rows: 1,
      rowsDone: 2,
      costMicros: 3000,
    } as const;
    expect(pausedData({ ...waits, maxCostMicros: 4000, unknownOutcomes: 5 })).toEqual({
      kind: 'paused',
      job: 'brands-1',
      pausedFor: 'budget',
      code: 'budget-reached',
      message: 'm',
      rows: 1,
      rowsDone: 2,
      ...{ dollars: 0.003, earlierDollars: 0, maxDollars: 0.004, unknownOutcomes: 5 },
    });
    expect(pausedData(waits)).toMatchObject({ maxDollars: null });
  });
});

describe('schedules', () => {
  const run = (changes: Partial<ScheduledRun>): ScheduledRun => ({
    workflowId: 'w',
    at,
    phase: 'done',
    message: null,
    summary: null,
    ...changes,
  });
  const rows = {
    ...summary,
    costMicros: 30_000,
    warehouse: { ...summary.warehouse, rows: 20, missing: 2, vanished: 3 },
  };
  const view: ScheduleView = {
    ...{ name: 'daily', job: 'brands', when: 'every 1d', paused: false, note: null, queued: 0 },
    work: {
      workflow: 'enrichCsv',
      workflowId: 'w',
      schedule: 'daily',
      input: { input: '/in.csv', into: '/out.duckdb', origin: 'o', maxCostDollars: 0.5 },
    },
    next: [1, 2, 3, 4, 5, 6].map((day) => at + day * 86_400_000),
    runs: [run({ summary: rows })],
  };

  it.each([
    [run({ summary: rows }), 'done, 20 rows, 2 to load, 3 vanished, $0.03'],
    [run({ phase: 'stopped', message: 'no money', summary: summary }), 'stopped, 200 rows, $0.195: no money'],
    [run({ phase: 'failed', message: 'no file' }), 'failed: no file'],
    [run({ phase: 'forgotten' }), 'ended; its result has expired in Temporal'],
    [
      run({
        summary: {
          stream: 's',
          into: 'i',
          phase: 'done',
          message: null,
          watermark: 1,
          windows: 1,
          seconds: 1,
          pages: 2,
          events: 1300,
          added: 40,
          changed: 5,
        },
      }),
      'done, 40 new of 1,300 events',
    ],
    [
      run({ summary: { into: 'i', monitors: 4, added: 5, again: 6, results: 7 } as ScheduledRun['summary'] }),
      'done, 5 new runs of 4 monitors',
    ],
  ])('a run shows its results: %#', (one, text) => {
    expect(runText(one)).toBe(text);
  });

  it('are a line each, or all that is known about one', () => {
    expect(
      schedulesText([
        view,
        { ...view, name: 'x', paused: true, note: 'why', runs: [] },
        { ...view, paused: true },
        { ...view, next: [] },
      ]),
    ).toEqual([
      'daily  every 1d  next 2026-11-22T06:00:00Z  last 2026-11-21T06:00:00Z: done, 20 rows, 2 to load, 3 vanished, $0.03',
      expect.stringMatching(/^x {6}every 1d +paused \(why\) {2}no runs yet$/),
      expect.stringMatching(/^daily {2}every 1d +paused {2}last /),
      expect.stringMatching(/^daily {2}every 1d +no further runs {2}last /),
    ]);
    expect(scheduleText({ ...view, queued: 9 }).split('\n')).toEqual([
      'Schedule:    daily',
      'Runs:        enrichCsv, as brands',
      'Input:       /in.csv',
      'Warehouse:   /out.duckdb',
      'Service:     o',
      'When:        every 1d',
      `Next:        ${[22, 23, 24, 25, 26].map((day) => `2026-11-${day}T06:00:00Z`).join(', ')}`,
      expect.stringContaining('at least 9 runs of a backfill or trigger'),
      'Run cost:    at most $0.50',
      'Last runs:',
      '  2026-11-21T06:00:00Z  done, 20 rows, 2 to load, 3 vanished, $0.03',
    ]);
    const free = {
      ...view,
      work: { workflow: 'syncEvents', workflowId: 'w', schedule: 'daily', input: {} },
    } as ScheduleView;
    expect(scheduleText({ ...free, queued: 8 })).toMatch(/Queued: +8 runs of .*\nRun cost: +free/);
    expect(scheduleText({ ...view, work: { ...view.work, input: { input: 'x' } } as ScheduleView['work'] })).toContain(
      'Run cost:    no cap',
    );
  });

  it('give machines their times in ISO 8601 and the input unchanged', () => {
    expect(scheduleData({ ...view, next: [at] })).toEqual({
      name: 'daily',
      job: 'brands',
      when: 'every 1d',
      paused: false,
      note: null,
      queued: 0,
      next: ['2026-11-21T06:00:00Z'],
      ...{ workflow: 'enrichCsv', input: view.work.input },
      runs: [{ at: '2026-11-21T06:00:00Z', workflowId: 'w', phase: 'done', message: null, summary: rows }],
    });
  });
});

describe('an agent run', () => {
  const result = {
    runId: 'run-1',
    status: 'completed',
    stopReason: null,
    text: 'The text',
    structured: { ceo: 'X' },
    usage: {},
    error: null,
    grounding: [
      { citations: [{ url: 'https://a.com' }, { url: 'https://b.com' }] },
      { citations: [{ url: 'https://a.com' }, { url: 1 }] },
      {},
    ],
    costDollars: 0.5,
    requests: [{ requestId: 'r', costDollars: 0.5, bought: true }],
    landed: ['k'],
    leftOutBytes: null,
  } as unknown as AgentRunResult;

  it('shows its status, its end, and its output with each source once', () => {
    const snapshot = {
      runId: 'run-1',
      status: null,
      startedAt: at - 61_000,
      events: 3,
      costDollars: 0.25,
      waitingFor: null,
    };
    expect(snapshotText(snapshot, at)).toBe('run-1: running, 1 min 1 s, 3 events, $0.25 so far');
    expect(snapshotText({ ...snapshot, status: 'queued', startedAt: null, events: null, costDollars: null }, at)).toBe(
      'run-1: queued',
    );
    expect(snapshotText({ ...snapshot, runId: null, waitingFor: 'a place' }, at)).toBe('waiting for a place');
    expect(snapshotText({ ...snapshot, runId: null }, at)).toBe('waiting for the run to start');
    expect(endText(result)).toBe('run-1: completed; $0.5.');
    const before = { ...result, status: 'failed', stopReason: 'time', error: { m: 1 }, leftOutBytes: 9, requests: [] };
    expect(endText(before)).toBe(
      'run-1: failed (time); paid earlier, $0.5.\n{"m":1}\nThe output is too large to print (9 bytes). It is in the journal as k.',
    );
    expect(outputText(result)).toBe('The text\n\n{\n  "ceo": "X"\n}\n\nSources:\n  https://a.com\n  https://b.com');
    expect(outputText({ ...result, text: null, structured: null, grounding: [] })).toBe('');
    expect([eventText({ event: 'step', data: { a: 1 } }), eventText({})]).toEqual(['step {"a":1}', 'event']);
    expect(runsText([])).toBe('No agent runs.');
    const listed = { id: 'i', status: 's', createdAt: 'c', request: { query: 'q' }, costDollars: { total: 2 } };
    expect(
      runsText([listed, { id: 'j', status: 's' }])
        .split('\n')
        .map((line) => line.split(/ +/)),
    ).toEqual([
      ['id', 'status', 'cost', 'started', 'query'],
      ['i', 's', '$2', 'c', 'q'],
      ['j', 's', '$0', '?', '?'],
    ]);
  });
});
