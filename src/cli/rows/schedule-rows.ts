import { toMicros } from '../../core/text/money.js';
import type { EnrichRequest, JobPlan, RuntimeConfig } from '../../worker/config/runtime-types.js';
import { rowsWork } from '../../worker/schedules/schedule-rows.js';
import { atMost, planData, planText } from '../progress/plan.js';
import { keepSchedule } from '../schedules/keep-schedule.js';
import type { ScheduleWish } from '../schedules/schedule-wish.js';
import { agreed, type Purchase } from '../shared/ask.js';
import { checkWarehouse } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { dollars, duration } from '../text/amounts.js';
import { announcement, type EnrichManner, notesOf } from './run-enrich.js';

/** Shows the cost of a run now and creates the schedule of a job of rows. Buys nothing. */
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
    const plan = await runtime.rows.plan(request);
    const work = rowsWork(plan, { config, shared: runtime.shared });
    if (manner.dryRun) {
      if (manner.json) terminal.data(JSON.stringify(planData(plan, config)));
      else terminal.data(planText(plan, config));
      terminal.say('No schedule was created.');
      return exitCodes.ok;
    }
    if (wish.timing !== 'never') {
      terminal.note(`A run now: ${announcement(plan, config)}`);
      for (const note of notesOf(plan)) terminal.note(`Note: ${note}`);
      terminal.note(runCost(plan));
      if (!(await agreed(context, config, purchaseOf(plan, manner)))) {
        terminal.say('No schedule was created.');
        return exitCodes.usage;
      }
    }
    const name = `${plan.staged.operation}-${plan.staged.job}`;
    return keepSchedule(context, await runtime.workflows(), wish, { name, work, data: manner.json });
  });
}

/** Returns a sentence about what each run will buy, with the cap of a run. */
function runCost(plan: JobPlan): string {
  const { refreshAfterMs, retryFailed } = plan.request;
  const old = refreshAfterMs === null ? '' : `, rows older than ${duration(refreshAfterMs / 1000)}`;
  const failed = retryFailed ? ', rows that failed for a temporary reason' : '';
  const most = atMost(plan);
  const bound =
    most === null
      ? 'without a cap (set one with --max-cost)'
      : `for at most ${dollars(most)}; the next run buys the remaining rows`;
  return `Each run buys new rows of its input${old}${failed}, ${bound}.`;
}

/** Returns the purchase to confirm for each run. A schedule needs a confirmation or a cap, even if a run now would be cheap. */
function purchaseOf(plan: JobPlan, { yes }: EnrichManner): Purchase {
  const most = atMost(plan);
  const cost = most === null ? 'any amount' : `at most ${dollars(most)}`;
  const sentence = `Each run of the schedule costs money, ${most === null ? 'without a cap' : cost}`;
  return {
    micros: most,
    sentence,
    question: `Spend ${cost} on each run?`,
    yes,
    bounded: toMicros(plan.request.maxCostDollars) !== null,
    always: true,
  };
}
