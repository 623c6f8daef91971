import { describe, expect, it } from 'vitest';
import { planData, planText } from '../../../src/cli/progress/plan.js';
import { pausedText } from '../../../src/cli/progress/summary.js';
import { resume } from '../../../src/cli/rows/control.js';
import { runEnrich } from '../../../src/cli/rows/enrich.js';
import { toEnrichRequest } from '../../../src/cli/rows/enrich-request.js';
import { settings } from '../../../src/cli/shared/session.js';
import type { JobPlan } from '../../../src/worker/config/runtime-types.js';
import { rowsWork } from '../../../src/worker/schedules/schedule-rows.js';
import {
  fakeContext,
  fakeHandle,
  fakeRuntime,
  listen,
  plan,
  progress,
  request,
} from '../../support/cli/fake-runtime.js';
import { useFlags } from '../../support/cli/read-flags.js';
import { ofFile } from '../../support/of-file.js';

ofFile(listen);
const bounded = (maxCostDollars: number | 'none'): JobPlan => ({ ...plan, request: { ...request, maxCostDollars } });
const config = { service: 'live', origin: 'https://api.exa.ai', rate: { qps: 10 } } as const;

describe('--max-cost', () => {
  it('accepts amounts, and none', () => {
    const read = (maxCost: string) => useFlags('resume', { maxCost }, (flags) => flags.maxCostDollars).value;
    expect(['1.00', '$0.5', '0', 'none'].map(read)).toEqual([1, 0.5, 0, 'none']);
  });

  it.each(['1,50', '-1', '1e3', 'NaN', '', '0.0000001', '€2'])('refuses %s and shows the expected form', (text) => {
    const typed = { job: 'brands', maxCost: text };
    expect(useFlags('enrich', typed, (flags) => toEnrichRequest('-', flags, '/data')).mistakes).toEqual([
      `--max-cost: '${text}' must be an amount in dollars such as 5 or 0.50, or none.`,
    ]);
  });

  it('is in the plan, as the point of a pause or as the maximum cost', () => {
    expect(planText(bounded(0.05), config)).toMatch(/Dollars: +would stop at \$0\.05 of an estimated \$0\.20/);
    expect(planText(bounded(5), config)).toMatch(/Dollars: +about \$0\.20, at most \$5\.00/);
    expect(planText(bounded(0.2), config)).toMatch(/Dollars: +about \$0\.20, at most \$0\.20\n/);
    expect(planText(bounded('none'), config)).toMatch(/Dollars: +about \$0\.20\n/);
    expect(planData(bounded(0.05), config)).toMatchObject({ estimateMicros: 200_000, maxCostMicros: 50_000 });
    expect(planData(plan, config)).toMatchObject({ maxCostMicros: null });
  });

  it('is announced, and the question names the maximum cost', async () => {
    const { runtime } = fakeRuntime({ plan: async () => ({ ...bounded(0.05), estimateMicros: 90_000_000 }) });
    const { context, err } = fakeContext(runtime, { tty: true });
    const manner = { dryRun: false, yes: false, asksAlways: false };
    expect(await runEnrich(context, settings(context, {}), request, manner)).toBe(0);
    expect(err()).toContain('for about $90.00, stops at $0.05');
    expect(err()).not.toContain('?');
  });

  it('is sent with a resume, which does not mention it if it was not given', async () => {
    const sent: unknown[] = [];
    const handle = fakeHandle({ result: async () => Promise.reject(new Error('enough')) });
    const { runtime } = fakeRuntime({
      resume: async (_job, how) => {
        sent.push(how);
        return handle;
      },
    });
    for (const flags of [{ maxCostDollars: 2 }, { maxCostDollars: 'none' }, {}] as const)
      await resume(fakeContext(runtime).context, 'brands', flags).catch(() => undefined);
    expect(sent).toEqual([{ maxCostDollars: 2 }, { maxCostDollars: 'none' }, {}]);
  });

  it.each([0, 5, 'none'] as const)('of %s is kept by a schedule: each of its runs may cost this much', (dollars) => {
    const access = { config: { origin: 'x' }, shared: false } as Parameters<typeof rowsWork>[1];
    expect(rowsWork(bounded(dollars), access).input).toMatchObject({ maxCostDollars: dollars });
    expect(JSON.stringify(rowsWork(plan, access).input)).not.toContain('maxCostDollars');
  });
});

describe('a paused job', () => {
  const next = { text: 'To raise the budget and resume', command: 'resume brands-1 --max-cost 2' };
  const paused = { ...progress, phase: 'paused', message: 'It is spent', next } as const;

  it('shows commands as they are typed in a clone', () => {
    const text = pausedText({ ...paused, pausedFor: 'budget' }, ['enrich', 'x.csv'], {
      npm_lifecycle_event: 'searchflow',
    });
    expect(text).toContain('npm run -s searchflow -- resume brands-1 --max-cost 2');
    expect(pausedText({ ...paused, pausedFor: 'budget' }, ['enrich'], {})).toBe(
      'Paused (budget): It is spent. To raise the budget and resume:\n  searchflow resume brands-1 --max-cost 2\nPaid results are kept.',
    );
  });
});
