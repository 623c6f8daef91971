import type { Output } from '../api/command-outputs.js';
import { buysPages } from '../core/rows/row-operation.js';
import type { RetryPlan, RuntimeConfig } from '../worker/config/runtime-types.js';
import { aboutDollars, atMost, plannedData, serviceText, someOf } from './progress/plan.js';
import { refuseOtherService } from './rows/control.js';
import { watchToEnd } from './rows/enrich.js';
import { agreed, type PlannedPurchase } from './shared/ask.js';
import { checkConnection } from './shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { count, dollars, duration, factLines, printable, some, toDo } from './text.js';

export async function retry(typed: Context, job: string, flags: Flags<'retry'>): Promise<ExitCode> {
  // An interrupted or paused run keeps its rows, and is resumed instead of planned again.
  const context: Context = { ...typed, args: ['resume', job] };
  const { terminal } = context;
  const { dryRun = false, maxCostDollars } = flags;
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: !dryRun }, async (session) => {
    await refuseOtherService(session.runtime, job, config.origin);
    const plan = await session.runtime.rows.planRetry(job, { tags: flags.tag, rows: flags.row });
    if (dryRun) {
      terminal.print(retryData(plan, config), retryText(plan, config));
      return exitCodes.ok;
    }
    if (plan.rows === 0) {
      terminal.result(retryData(plan, config));
      terminal.say(`${printable(plan.staged.name)}: no row failed for a temporary reason. Nothing was bought.`);
      return exitCodes.ok;
    }
    terminal.say(sentenceOf(plan, config));
    for (const note of plan.notes) terminal.say(`Note: ${printable(note)}`);
    if (plan.units > 0 && !(await agreed(context, config, purchaseOf(plan, flags)))) {
      terminal.say('Nothing was bought.');
      return exitCodes.usage;
    }
    await checkConnection(config);
    session.working();
    const handle = await (await session.runtime.work()).retry(plan, { maxCostDollars });
    session.working(handle.job);
    return watchToEnd(session, handle);
  });
}

function sentenceOf(plan: RetryPlan, config: RuntimeConfig): string {
  const { staged, rows, units, running, requests } = plan;
  const sent = buysPages(staged.operation) ? ` in ${some(requests, 'request')}` : '';
  const followed = running === 0 ? '' : `, ${someOf(running, staged.operation)} to follow again`;
  return `${printable(staged.name)}: ${some(rows, 'failed row')}, ${someOf(units, staged.operation)} to buy again${sent} for ${aboutDollars(plan)}${followed}; on ${serviceText(config)}.`;
}

function purchaseOf(plan: RetryPlan, { maxCostDollars, yes }: Flags<'retry'>): PlannedPurchase {
  const most = atMost({ request: { maxCostDollars }, allowedMicros: plan.allowedMicros }) ?? plan.estimateMicros;
  const micros = Math.min(plan.estimateMicros, most);
  const cost = micros < plan.estimateMicros ? `at most ${dollars(micros)}` : aboutDollars(plan);
  const question = `Buy ${someOf(plan.units, plan.staged.operation)} again for ${cost}?`;
  return { micros, sentence: `This costs ${cost}`, question, yes, maxCost: maxCostDollars };
}

function retryText(plan: RetryPlan, config: RuntimeConfig): string {
  const { staged, rows, units, running, requests, tags, seconds, perSecond } = plan;
  return [
    ...factLines(16, [
      ['Job', printable(staged.job)],
      ['Service', serviceText(config)],
      ['Failed rows', count(rows)],
      ['To buy', someOf(units, staged.operation)],
      ['To follow', running > 0 ? someOf(running, staged.operation) : null],
      ['Requests', count(requests)],
      ['Dollars', aboutDollars(plan)],
      ['Time', `${duration(seconds)} at ${some(perSecond, 'request')} a second`],
      ['Warehouse', printable(staged.into)],
    ]),
    ...Object.entries(tags).map(([tag, number]) => `    ${count(number).padStart(9)}  ${printable(tag)}`),
    ...plan.notes.map((note) => `Note: ${printable(note)}`),
  ].join('\n');
}

function retryData(plan: RetryPlan, config: RuntimeConfig): Output<'retryPlan'> {
  const { rows, units, running, tags } = plan;
  return { kind: 'retryPlan', ...plannedData(plan, config), rows, toBuy: units, toFollow: running, tags };
}

export async function discard(context: Context, job: string, flags: Flags<'discard'>): Promise<ExitCode> {
  const { undo = false, tag: tags, row: rows } = flags;
  const isNamed = tags !== undefined || rows !== undefined;
  const mistakes = isNamed
    ? []
    : ['Name the rows: --tag TAG for the rows with an error tag, or --row N. Both may be repeated.'];
  return withRuntime(context, settings(context, {}, mistakes), {}, async ({ runtime }) => {
    const done = await runtime.rows.discard(job, { tags, rows, undo });
    const { name, discarded, failed } = done;
    const change = undo ? 'no longer discarded' : 'discarded';
    const verb = done.rows === 1 ? 'is' : 'are';
    const text = `${printable(name)}: ${some(done.rows, 'failed row')} ${verb} ${change}. Now ${count(discarded)} of its rows are discarded, and ${count(failed)} count as failed.`;
    const same = [
      ...(tags ?? []).flatMap((tag) => ['--tag', tag]),
      ...(rows ?? []).flatMap((row) => ['--row', `${row}`]),
    ];
    context.terminal.tell(done, undo ? text : `${text}\n${toDo('To undo it', 'discard', job, ...same, '--undo')}`);
  });
}
