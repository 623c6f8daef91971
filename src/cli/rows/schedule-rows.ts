import { toMicros } from '../../core/text/money.js';
import type { EnrichRequest, JobPlan, RuntimeConfig } from '../../worker/config/runtime-types.js';
import { rowsWork } from '../../worker/schedules/schedule-rows.js';
import { atMost, planData, planText } from '../progress/plan.js';
import { keepSchedule } from '../schedules/keep-schedule.js';
import type { ScheduleWish } from '../schedules/schedule-flags.js';
import { agreed, type Purchase } from '../shared/ask.js';
import { checkWarehouse } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { dollars, duration } from '../text/amounts.js';
import { announcement, type EnrichManner, notesOf } from './run-enrich.js';

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
      for (const note of notesOf(plan)) terminal.say(`Note: ${note}`);
      terminal.say(runCost(plan));
      if (!(await agreed(context, config, purchaseOf(plan, manner)))) {
        terminal.say('No schedule was made.');
        return exitCodes.usage;
      }
    }
    const name = `${plan.staged.operation}-${plan.staged.job}`;
    return keepSchedule(context, await runtime.workflows(), wish, { name, work, data: manner.json });
  });
}

/** What a run will buy and cost, whatever the file holds by then. */
function runCost(plan: JobPlan): string {
  const { refreshAfterMs, retryFailed } = plan.request;
  const old = refreshAfterMs === null ? '' : `, what is older than ${duration(refreshAfterMs / 1000)}`;
  const failed = retryFailed ? ', what failed for a passing reason' : '';
  const most = atMost(plan);
  const bound =
    most === null
      ? 'without a bound: --max-cost gives each run one'
      : `for at most ${dollars(most)}, and then stops until the next`;
  return `Each run buys what is new in the file by then${old}${failed}, ${bound}.`;
}

/** What each run of the schedule may buy: somebody agrees to it, or bounds it, however little a run costs now. */
function purchaseOf(plan: JobPlan, { yes }: EnrichManner): Purchase {
  const most = atMost(plan);
  const cost = most === null ? 'without a bound' : `at most ${dollars(most)} of real money`;
  const sentence = `Each run of the schedule spends real money, ${most === null ? cost : `at most ${dollars(most)}`}`;
  return {
    micros: most,
    sentence,
    question: `Spend ${cost} on each run?`,
    yes,
    bounded: toMicros(plan.request.maxCostDollars) !== null,
    always: true,
  };
}
