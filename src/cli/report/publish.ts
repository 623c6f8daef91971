import type { Output } from '../../api/outputs/index.js';
import { placeOrProblem } from '../../worker/config/publish-step.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { printable, some } from '../text.js';

/** `searchflow publish WHAT --to TARGET`: copies tables of a warehouse to a target in one step. The command needs no Temporal server. */
export async function publish(context: Context, what: string, flags: Flags<'publish'>): Promise<ExitCode> {
  const { to, from = null, mode, key = [], partition = null, json = false } = flags;
  const mistakes: string[] = [];
  const place = placeOrProblem(to);
  if (typeof place === 'string') mistakes.push(`--to: ${place}.`);
  if (mode === 'merge' && key.length === 0)
    mistakes.push('--mode merge needs --key, the columns that identify a row, such as --key website.');
  if (mode !== 'merge' && key.length > 0) mistakes.push('--key needs --mode merge.');
  const config = settings(context, from === null ? {} : { into: from, intoFlag: '--from' }, mistakes);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const done = await runtime.publish({ what, from, to, mode, key, partition });
    const output: Output<'publish'> = { kind: 'publish', ...done };
    if (json) context.terminal.data(JSON.stringify(output));
    else if (!done.changed)
      context.terminal.say(
        `${printable(done.target)} has these rows of run ${printable(done.run)} already. Nothing was written.`,
      );
    else
      for (const { name, rows, total } of done.tables)
        context.terminal.say(
          `${printable(name)}: ${some(rows, 'row')} published to ${printable(done.target)}${total === rows ? '' : `, which now has ${some(total, 'row')}`}`,
        );
    return exitCodes.ok;
  });
}
