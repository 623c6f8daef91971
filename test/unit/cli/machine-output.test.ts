import { describe, expect, it } from 'vitest';
import { endText, eventText, outputText, runsText, snapshotText } from '../../../src/cli/agents.js';
import { planData } from '../../../src/cli/progress/plan.js';
import { showPause, summaryData } from '../../../src/cli/progress/summary.js';
import { runText, scheduleData, schedulesText, scheduleText } from '../../../src/cli/schedules.js';
import { printed } from '../../../src/core/text/printed.js';
import type { AgentRunResult, ScheduledRun } from '../../../src/core/workflow-result-schemas.js';
import type { ScheduleView } from '../../../src/worker/schedules/schedule-view.js';
import { fakeContext, fakeRuntime, plan, progress, summary } from '../../support/cli/fake-runtime.js';

// Every field has a value of its own, so that a swapped field or unit is detected.
const at = Date.UTC(2026, 10, 21, 6);

/** Compares an output with the recorded one, which `npm run golden` writes. */
const expectGolden = (name: string, output: unknown) =>
  expect(`${typeof output === 'string' ? output : JSON.stringify(output, null, 2)}\n`).toMatchFileSnapshot(
    `golden/output-${name}.txt`,
  );

describe('the output of --json', () => {
  it('of a plan', async () => {
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
    await expectGolden('plan', printed(planData(whole, { service: 'live', origin: 'https://api.exa.ai' })));
    const plain = planData(
      { ...plan, staged: { ...plan.staged, operation: 'search' } },
      { service: 'sandbox', origin: 'sandbox' },
    );
    expect(plain).toMatchObject({
      limit: null,
      rest: null,
      urlColumn: null,
      maxCostMicros: null,
      badRows: 0,
      distinctUnits: 200,
    });
  });

  it('of a summary', async () => {
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
    await expectGolden('summary', printed(summaryData(ending)));
  });

  it('of a paused job', async () => {
    const waits = {
      ...progress,
      phase: 'paused',
      pausedFor: 'budget',
      message: 'm',
      rows: 1,
      rowsDone: 2,
      costMicros: 3000,
    } as const;
    const { context, out } = fakeContext(fakeRuntime({}).runtime, { flags: { json: true } });
    showPause(context, waits.job, { ...waits, maxCostMicros: 4000, unknownOutcomes: 5, startedAt: at });
    await expectGolden('paused', JSON.parse(out()));
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

  it('are a line each, or all that is known about one', async () => {
    const others = [
      { ...view, name: 'x', paused: true, note: 'why', runs: [] },
      { ...view, paused: true },
      { ...view, next: [] },
    ];
    await expectGolden(
      'schedules',
      `${schedulesText([view, ...others]).join('\n')}\n\n${scheduleText({ ...view, queued: 9 })}`,
    );
    const free = {
      ...view,
      work: { workflow: 'syncEvents', workflowId: 'w', schedule: 'daily', input: {} },
    } as ScheduleView;
    expect(scheduleText({ ...free, queued: 8 })).toMatch(/Queued: +8 runs of .*\nRun cost: +free/);
    expect(scheduleText({ ...view, work: { ...view.work, input: { input: 'x' } } as ScheduleView['work'] })).toContain(
      'Run cost:    no cap',
    );
  });

  it('give machines their times in ISO 8601 and the input unchanged', async () => {
    await expectGolden('schedule', printed(scheduleData({ ...view, next: [at] })));
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

  it('shows its status, its end, and its output with each source once', async () => {
    const snapshot = {
      runId: 'run-1',
      status: null,
      startedAt: at - 61_000,
      events: 3,
      costDollars: 0.25,
      waitingFor: null,
    };
    const snapshots = [
      snapshot,
      { ...snapshot, status: 'queued', startedAt: null, events: null, costDollars: null },
      { ...snapshot, runId: null, waitingFor: 'a place' },
      { ...snapshot, runId: null },
    ];
    const before = { ...result, status: 'failed', stopReason: 'time', error: { m: 1 }, leftOutBytes: 9, requests: [] };
    const texts = [
      ...[...snapshots.map((one) => snapshotText(one, at)), endText(result), endText(before), outputText(result)],
      ...[eventText({ event: 'step', data: { a: 1 } }), eventText({})],
    ];
    await expectGolden('agent-run', texts.join('\n\n'));
    expect(outputText({ ...result, text: null, structured: null, grounding: [] })).toBe('');
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
