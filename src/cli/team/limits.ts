import { parseDollars } from '../../core/text/money.js';
import type { ConfigFlags } from '../../worker/config/config.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { dollars } from '../text/amounts.js';
import { limitsData, limitsText, unblockedText } from './limits-text.js';

/** `searchflow limits`: shows the limits of the team and their use. `unblock`: first lifts the block. */
export async function limits(
  context: Context,
  flags: ConfigFlags & { readonly json?: boolean; readonly unblock?: boolean },
): Promise<ExitCode> {
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: false, bounded: true }, async ({ runtime }) => {
    if (flags.unblock) {
      const before = await runtime.team.limits();
      const isAwake = await runtime.team.unblock();
      context.terminal.say(unblockedText(before, isAwake));
    }
    const spend = await runtime.team.spend();
    const [limiter, others, slots, caps, spent] = await Promise.all([
      runtime.team.limits(),
      runtime.team.otherLimits(),
      runtime.team.slots(),
      spend.caps(),
      spend.spent(),
    ]);
    const all = {
      config,
      limiter,
      others,
      slots,
      caps,
      spent,
      workerElsewhere: runtime.team.workerElsewhere(),
      now: Date.now(),
    };
    context.terminal.data(flags.json ? JSON.stringify(limitsData(all)) : limitsText(all));
    return exitCodes.ok;
  });
}

export interface CapFlags {
  readonly perDay?: string;
  readonly perMonth?: string;
}

/** `searchflow limits set`: sets the caps of the team for each UTC day and month. `none` removes a cap. */
export async function setLimits(context: Context, flags: CapFlags): Promise<ExitCode> {
  const mistakes: string[] = [];
  const cap = (text: string | undefined, flag: string): number | null | undefined => {
    if (text === undefined || text === 'none') return text === undefined ? undefined : null;
    const micros = parseDollars(text);
    if (micros === null) mistakes.push(`${flag}: '${text}' must be an amount in dollars such as 20 or 0.50, or none.`);
    return micros;
  };
  const [dayMicros, monthMicros] = [cap(flags.perDay, '--per-day'), cap(flags.perMonth, '--per-month')];
  const config = settings(context, {}, mistakes);
  if (dayMicros === undefined && monthMicros === undefined) {
    throw new UsageError(
      'missing-argument',
      'Pass --per-day, --per-month or both: an amount in dollars, or none to remove the cap.',
    );
  }
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const spend = await runtime.team.spend();
    const caps = await spend.setCaps({ dayMicros, monthMicros });
    const shown = (micros: number | null) => (micros === null ? 'no cap' : `at most ${dollars(micros)}`);
    context.terminal.say(
      `New caps: ${shown(caps.dayMicros)} per day, ${shown(caps.monthMicros)} per month (UTC). ` +
        'To resume a job that was paused by a cap:\n  searchflow resume JOB',
    );
    return exitCodes.ok;
  });
}
