import type { RetryPlanOutput } from '../../api/outputs/index.js';
import { toMicros } from '../../core/text/money.js';
import type { ConfigFlags } from '../../worker/config/config.js';
import type { RetryPlan, RuntimeConfig } from '../../worker/config/runtime-types.js';
import { readMaxCost } from '../options/max-cost-option.js';
import { someOf } from '../progress/operation-words.js';
import { serviceText } from '../progress/plan.js';
import { refuseOtherService } from '../rows/control.js';
import { watchToEnd } from '../rows/run-enrich.js';
import { agreed, type Purchase } from '../shared/ask.js';
import { checkConnection } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, dollars, duration, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { type FailedFlags, readFailedSelection } from './failed-selection.js';

export interface RetryFlags extends FailedFlags, ConfigFlags {
  readonly maxCost?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `searchflow retry JOB`: buys failed rows of a complete job again, loads them, and changes no other row. */
export async function retry(typed: Context, job: string, flags: RetryFlags): Promise<ExitCode> {
  // An interrupted or paused run keeps its rows, and is resumed instead of planned again.
  const context: Context = { ...typed, args: ['resume', job] };
  const { terminal } = context;
  const { dryRun = false, yes = false, json = false } = flags;
  const mistakes: string[] = [];
  const selection = readFailedSelection(flags, mistakes);
  const maxCostDollars = readMaxCost(flags.maxCost, mistakes);
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: !dryRun }, async (session) => {
    await refuseOtherService(session.runtime, job, config.origin);
    const plan = await session.runtime.rows.planRetry(job, selection);
    if (dryRun) {
      terminal.data(json ? JSON.stringify(retryData(plan, config)) : retryText(plan, config));
      return exitCodes.ok;
    }
    if (plan.rows === 0) {
      if (json) terminal.data(JSON.stringify(retryData(plan, config)));
      terminal.say(`${printable(plan.staged.name)}: no row failed for a temporary reason. Nothing was bought.`);
      return exitCodes.ok;
    }
    terminal.say(sentenceOf(plan, config));
    for (const note of plan.notes) terminal.say(`Note: ${printable(note)}`);
    if (plan.units > 0 && !(await agreed(context, config, purchaseOf(plan, maxCostDollars, yes)))) {
      terminal.say('Nothing was bought.');
      return exitCodes.usage;
    }
    await checkConnection(config);
    session.working();
    const handle = await session.runtime.rows.retry(plan, { maxCostDollars });
    session.working(handle.job);
    return watchToEnd(context, config, session, handle, { json, csv: null, badRows: [] });
  });
}

const costOf = ({ estimateMicros, estimateIsMost }: RetryPlan): string =>
  `${estimateIsMost ? 'at most' : 'about'} ${dollars(estimateMicros)}`;

function sentenceOf(plan: RetryPlan, config: RuntimeConfig): string {
  const { staged, rows, units, running, requests } = plan;
  const sent = staged.operation === 'contents' ? ` in ${some(requests, 'request')}` : '';
  const followed = running === 0 ? '' : `, ${someOf(running, staged.operation)} to follow again`;
  return `${printable(staged.name)}: ${some(rows, 'failed row')}, ${someOf(units, staged.operation)} to buy again${sent} for ${costOf(plan)}${followed}; on ${serviceText(config)}.`;
}

function purchaseOf(plan: RetryPlan, maxCostDollars: number | 'none' | undefined, yes: boolean): Purchase {
  const most = Math.min(
    toMicros(maxCostDollars) ?? Number.POSITIVE_INFINITY,
    plan.allowedMicros ?? Number.POSITIVE_INFINITY,
  );
  const micros = Math.min(plan.estimateMicros, most);
  const cost = micros < plan.estimateMicros ? `at most ${dollars(micros)}` : costOf(plan);
  const question = `Buy ${someOf(plan.units, plan.staged.operation)} again for ${cost}?`;
  const bounded = toMicros(maxCostDollars) !== null;
  return { micros, sentence: `This costs ${cost}`, question, yes, bounded, always: false };
}

function retryText(plan: RetryPlan, config: RuntimeConfig): string {
  const { staged, rows, units, running, requests, tags, seconds, perSecond } = plan;
  const lines: [string, string][] = [
    ['Job', printable(staged.job)],
    ['Service', serviceText(config)],
    ['Failed rows', count(rows)],
    ['To buy', someOf(units, staged.operation)],
    ...(running > 0 ? [['To follow', someOf(running, staged.operation)] as [string, string]] : []),
    ['Requests', count(requests)],
    ['Dollars', costOf(plan)],
    ['Time', `${duration(seconds)} at ${some(perSecond, 'request')} a second`],
    ['Warehouse', printable(staged.into)],
  ];
  return [
    ...lines.map(([name, value]) => `${`${name}:`.padEnd(16)}${value}`),
    ...Object.entries(tags).map(([tag, number]) => `    ${count(number).padStart(9)}  ${printable(tag)}`),
    ...plan.notes.map((note) => `Note: ${printable(note)}`),
  ].join('\n');
}

function retryData(plan: RetryPlan, { service, origin }: RuntimeConfig): RetryPlanOutput {
  const { staged, rows, units, running, requests, estimateMicros, estimateIsMost, tags, seconds, notes } = plan;
  return {
    kind: 'retryPlan',
    ...{ job: staged.job, name: staged.name, service, origin, operation: staged.operation },
    ...{ rows, toBuy: units, toFollow: running, requests, dollars: estimateMicros / 1e6 },
    dollarsAreMost: estimateIsMost,
    ...{ tags, seconds, into: staged.into, notes },
  };
}
