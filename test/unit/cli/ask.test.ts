import type { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { agentRun } from '../../../src/cli/agents.js';
import { planData } from '../../../src/cli/progress/plan.js';
import { runEnrich } from '../../../src/cli/rows/enrich.js';
import { agreed } from '../../../src/cli/shared/ask.js';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import { settings } from '../../../src/cli/shared/session.js';
import type { EnrichRequest, JobPlan } from '../../../src/worker/config/runtime-types.js';
import { fakeContext, fakeRuntime, listen, plan, request } from '../../support/cli/fake-runtime.js';
import { flagsOf } from '../../support/cli/read-flags.js';
import { ofFile } from '../../support/of-file.js';

ofFile(listen);

const refusalOf = (error: unknown) => {
  const { exitCode, message } = failureOf(error);
  return { code: exitCode, text: message };
};

const dear: JobPlan = { ...plan, estimateMicros: 20_000_000 };
const manner = { dryRun: false, yes: false, asksAlways: false };

/** Runs an enrichment without a terminal. Returns its exit code and its calls, or the error that refuses it. */
async function enrich(
  planned: JobPlan,
  changes: Partial<EnrichRequest> = {},
  yes = false,
  env: Record<string, string> = {},
): Promise<{ code: number; text: string; calls: readonly string[] }> {
  const { runtime, calls } = fakeRuntime({ plan: async (asked) => ({ ...planned, request: asked }) });
  const { context } = fakeContext(runtime);
  const config = settings({ ...context, env: { ...context.env, ...env } }, {});
  const asked = { ...request, ...changes };
  const { code, text } = await runEnrich(context, config, asked, { ...manner, yes }).then(
    (ended) => ({ code: ended as number, text: '' }),
    refusalOf,
  );
  return { code, text, calls };
}

describe('without a terminal', () => {
  it('buys nothing above $10 without a confirmation, shows the amount and the remedy, and ends with 2', async () => {
    const { code, text, calls } = await enrich(dear);
    expect(code).toBe(2);
    expect(text).toContain('about $20.00, and stdin is not a terminal');
    expect(text).toContain('$10.00 (SEARCHFLOW_ASK_ABOVE)');
    expect(text.split('\n')[1]).toBe('Pass --yes to confirm, or --max-cost DOLLARS to set a cap.');
    expect(calls).not.toContain('start');
  });

  it.each<[string, Parameters<typeof enrich>]>([
    ['--yes', [dear, {}, true]],
    ['--max-cost with an amount', [dear, { maxCostDollars: 50 }]],
    ['an estimate of $10', [{ ...dear, estimateMicros: 10_000_000 }]],
    ['nothing to buy', [{ ...dear, toBuy: 0 }]],
    ['a higher amount in SEARCHFLOW_ASK_ABOVE', [dear, {}, false, { SEARCHFLOW_ASK_ABOVE: '20' }]],
  ])('buys with %s', async (_, args) => {
    expect(await enrich(...args)).toMatchObject({ code: 0, calls: expect.arrayContaining(['start']) });
  });

  it.each([true, false])('never asks on the sandbox, with a terminal (%s) or without', async (tty) => {
    const { context, err } = fakeContext(fakeRuntime().runtime, { tty });
    const purchase = { micros: null, sentence: '', question: 'Sure?', yes: false, maxCost: undefined, always: true };
    expect(await agreed(context, { service: 'sandbox', askAboveMicros: 0 }, purchase)).toBe(true);
    expect(err()).toBe('');
  });

  it('buys nothing at an unknown price without a confirmation', async () => {
    const { context } = fakeContext(fakeRuntime().runtime);
    const purchase = {
      micros: null,
      sentence: 'This costs',
      question: 'Sure?',
      yes: false,
      maxCost: undefined,
      always: false,
    };
    const config = { service: 'live', askAboveMicros: 10_000_000 } as const;
    await expect(agreed(context, config, purchase)).rejects.toThrow(/^This costs, and stdin is not a terminal\./);
    expect(await agreed(context, config, { ...purchase, micros: 10_000_000 })).toBe(true);
    await expect(agreed(context, config, { ...purchase, micros: 10_000_001 })).rejects.toThrow('Nothing was bought.');
  });

  it('accepts --max-cost none, which needs a confirmation, and a lower SEARCHFLOW_ASK_ABOVE', async () => {
    expect(await enrich(dear, { maxCostDollars: 'none' })).toMatchObject({ code: 2 });
    expect(await enrich(plan, {}, false, { SEARCHFLOW_ASK_ABOVE: '0.10' })).toMatchObject({ code: 2 });
  });

  it('starts no agent run whose effort or own budget allows a higher cost', async () => {
    const { runtime, calls } = fakeRuntime();
    const run = (typed: object) =>
      agentRun(fakeContext(runtime).context, 'Who makes this?', flagsOf('agent run', typed).flags).catch(refusalOf);
    expect(await run({ effort: 'ultra' })).toMatchObject({ code: 2, text: expect.stringContaining('at most $20.00') });
    expect(await run({ option: ['budget={"maxCostDollars":12}'] })).toMatchObject({ code: 2 });
    expect(calls).not.toContain('workflows');
    for (const flags of [{ effort: 'ultra', yes: true }, { effort: 'ultra', maxCost: '15' }, { effort: 'auto' }])
      expect(await run(flags)).toMatchObject({ code: 1, text: 'there is no server' });
  });

  it('creates no schedule without a confirmation, however little a run costs', async () => {
    const make = (changes: Partial<EnrichRequest>, yes = false) => {
      const { runtime } = fakeRuntime({ plan: async (asked) => ({ ...plan, request: asked }) });
      const { context } = fakeContext(runtime);
      const wish = { name: null, timing: { everyMs: 86_400_000 } };
      const asked = { ...request, ...changes };
      return runEnrich(context, settings(context, {}), asked, { ...manner, yes }, wish).catch(refusalOf);
    };
    expect(await make({})).toMatchObject({
      code: 2,
      text: expect.stringContaining('costs money, without a cap, and stdin is not a terminal'),
    });
    for (const made of [make({ maxCostDollars: 5 }), make({}, true)])
      expect(await made).toMatchObject({ text: 'there is no server' });
  });
});

it('the command asks on a terminal, even with --max-cost, and takes every answer except yes as no', async () => {
  const { runtime, calls } = fakeRuntime({ plan: async (asked) => ({ ...dear, request: asked }) });
  for (const [key, code] of [
    ['\r', 2],
    ['n', 2],
    ['y', 0],
  ] as const) {
    const { context, err } = fakeContext(runtime, { tty: true });
    const asked = runEnrich(context, settings(context, {}), { ...request, maxCostDollars: 50 }, manner);
    await vi.waitFor(() => expect(err()).toContain('Buy 200 URLs for about $20.00?'), 20_000);
    (context.terminal.streams().stdin as unknown as PassThrough).write(key);
    expect(await asked).toBe(code);
    expect(calls.splice(0).includes('start')).toBe(code === 0);
  }
});

it('the command asks on a terminal before it creates a schedule, however little each run may cost', async () => {
  const cheap = { ...request, maxCostDollars: 0.01 };
  const { runtime, calls } = fakeRuntime({ plan: async (asked) => ({ ...plan, request: asked }) });
  const { context, err } = fakeContext(runtime, { tty: true });
  const wish = { name: null, timing: { everyMs: 86_400_000 } };
  const made = runEnrich(context, settings(context, {}), cheap, manner, wish);
  await vi.waitFor(() => expect(err()).toContain('Spend at most $0.01 on each run?'), 20_000);
  (context.terminal.streams().stdin as unknown as PassThrough).write('n');
  expect(await made).toBe(2);
  expect(err()).toContain('No schedule was created.');
  expect(calls).not.toContain('workflows');
});

it('a plan shows the lower of --max-cost and the maximum of the worker', () => {
  const most = (maxCostDollars: number | 'none' | undefined, allowedMicros: number | null) =>
    planData(
      { ...plan, request: { ...request, ...(maxCostDollars === undefined ? {} : { maxCostDollars }) }, allowedMicros },
      { service: 'live', origin: '' },
    );
  expect(most(undefined, 2_000_000)).toMatchObject({ maxCostMicros: 2_000_000 });
  expect(most('none', 2_000_000)).toMatchObject({ maxCostMicros: 2_000_000 });
  expect(most(5, 2_000_000)).toMatchObject({ maxCostMicros: 2_000_000 });
  expect(most(1, 2_000_000)).toMatchObject({ maxCostMicros: 1_000_000 });
  expect(most(1, null)).toMatchObject({ maxCostMicros: 1_000_000 });
});

it.each(['SEARCHFLOW_ASK_ABOVE', 'SEARCHFLOW_MAX_COST_PER_JOB'])(
  'the command refuses a %s that is not an amount',
  (name) => {
    const { context } = fakeContext(fakeRuntime().runtime);
    expect(() => settings({ ...context, env: { ...context.env, [name]: '-1' } }, {})).toThrow(
      `${name}: '-1' (environment) is not an amount of dollars such as 5 or 0.50.`,
    );
  },
);
