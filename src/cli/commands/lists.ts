import { type Context, type ExitCode, exitCodes } from '../context.js';
import { printable } from '../render/printable.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

/** `searchflow jobs`: the jobs of this folder, a line each, tab-separated. */
export async function jobs(context: Context, flags: { readonly json?: boolean }): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const all = await runtime.jobs();
    if (flags.json) context.terminal.data(JSON.stringify(all));
    else
      for (const one of all)
        context.terminal.data([one.job, one.origin, one.input, one.into].map((text) => printable(text)).join('\t'));
    if (all.length === 0) context.terminal.say('No job yet; `searchflow enrich FILE` makes one.');
    return exitCodes.ok;
  });
}

/** `searchflow limits`: the rate this folder keeps to. */
export async function limits(
  context: Context,
  flags: { readonly json?: boolean; readonly qps?: string },
): Promise<ExitCode> {
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const view = await runtime.limits();
    if (flags.json)
      context.terminal.data(JSON.stringify({ origin: config.origin, concurrency: config.concurrency, ...view }));
    else {
      const block =
        view.blockedUntil === null
          ? 'no'
          : `until ${new Date(view.blockedUntil).toISOString()}: ${printable(view.blockReason ?? '')}`;
      const lines = [
        `Service:    ${printable(config.origin)}`,
        `Profile:    ${printable(view.profile)}`,
        `Limit:      ${view.qps} requests a second`,
        `In flight:  at most ${config.concurrency} paid requests`,
        `Blocked:    ${block}`,
        `Waiting:    ${view.waiting} calls`,
      ];
      context.terminal.data(lines.join('\n'));
    }
    return exitCodes.ok;
  });
}
