import { toMicros } from '../../core/money.js';
import { type EnrichRequest, type JobPlan, type RuntimeConfig, UsageError } from '../../worker/runtime-types.js';
import { rowsWork } from '../../worker/schedule-rows.js';
import { askYesNo } from '../ask.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { keepSchedule } from '../keep-schedule.js';
import { checkWarehouse } from '../reach.js';
import { dollars, duration } from '../render/amounts.js';
import { planData, planText } from '../render/plan.js';
import { printable } from '../render/printable.js';
import type { ScheduleWish } from '../schedule-flags.js';
import { withRuntime } from '../session.js';
import { announcement, type EnrichManner } from './run-enrich.js';

/** Makes the schedule of a job of rows, with what a run now would cost told before; buys nothing. */
export async function scheduleRows(
  context: Context,
  config: RuntimeConfig,
  request: EnrichRequest,
  wish: ScheduleWish,
  manner: EnrichManner,
): Promise<ExitCode> {
  const { terminal } = context;
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    if (wish.timing !== 'never' && !manner.dryRun) await checkWarehouse(config, request.into);
    const plan = await runtime.plan(request);
    const work = rowsWork(plan, { config, shared: runtime.shared });
    if (manner.dryRun) {
      if (manner.json) terminal.data(JSON.stringify(planData(plan, config)));
      else terminal.data(planText(plan, config));
      terminal.say('No schedule was made.');
      return exitCodes.ok;
    }
    if (wish.timing !== 'never') {
      terminal.say(`Now it would be ${announcement(plan, config)}`);
      for (const note of plan.notes) terminal.say(`Note: ${printable(note)}`);
      terminal.say(runCost(request));
      if (!(await agreed(context, config, plan, manner))) {
        terminal.say('No schedule was made.');
        return exitCodes.usage;
      }
    }
    const name = `${plan.staged.operation}-${plan.staged.job}`;
    return keepSchedule(context, await runtime.workflows(), wish, { name, work, data: manner.json });
  });
}

/** What a run will buy and cost, whatever the file holds by then. */
function runCost({ refreshAfterMs, retryFailed, maxCostDollars }: EnrichRequest): string {
  const old = refreshAfterMs === null ? '' : `, what is older than ${duration(refreshAfterMs / 1000)}`;
  const failed = retryFailed ? ', what failed for a passing reason' : '';
  const most = toMicros(maxCostDollars);
  const bound =
    most === null
      ? 'without a bound: --max-cost gives each run one'
      : `for at most ${dollars(most)}, and then stops until the next`;
  return `Each run buys what is new in the file by then${old}${failed}, ${bound}.`;
}

/** A schedule spends again and again: for real money somebody agrees to it, or bounds it. */
async function agreed(context: Context, config: RuntimeConfig, plan: JobPlan, { yes }: EnrichManner): Promise<boolean> {
  const most = toMicros(plan.request.maxCostDollars);
  if (config.service === 'sandbox' || yes) return true;
  if (context.terminal.asks) {
    const bound = most === null ? 'without a bound' : `at most ${dollars(most)} of real money`;
    return askYesNo(context, `Spend ${bound} on each run?`);
  }
  if (most !== null) return true;
  throw new UsageError(
    'A schedule spends real money again and again, and nobody can be asked here: give --max-cost DOLLARS for each run, or --yes.',
  );
}
