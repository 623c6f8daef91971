import { type Context, type ExitCode, exitCodes } from '../context.js';
import { printable } from '../render/printable.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

/** `searchflow jobs`: the jobs of this folder or of its store, a line each, tab-separated. */
export async function jobs(context: Context, flags: { readonly json?: boolean }): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false }, async ({ runtime }) => {
    const all = await runtime.jobs();
    if (flags.json) context.terminal.data(JSON.stringify(all));
    else
      for (const one of all)
        context.terminal.data([one.job, one.origin, one.input, one.into].map((text) => printable(text)).join('\t'));
    if (all.length === 0)
      context.terminal.say('No job yet; `searchflow enrich FILE` or `searchflow events sync` makes one.');
    return exitCodes.ok;
  });
}
