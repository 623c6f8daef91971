import type { Output } from '../api/outputs/index.js';
import { placeOrProblem } from '../worker/config/publish-step.js';
import type { Context, ExitCode, Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { printable, some } from './text.js';

export async function publish(context: Context, what: string, flags: Flags<'publish'>): Promise<ExitCode> {
  const { to, from = null, mode, key = [], partition = null } = flags;
  const mistakes: string[] = [];
  const place = placeOrProblem(to);
  if (typeof place === 'string') mistakes.push(`--to: ${place}.`);
  if (mode === 'merge' && key.length === 0)
    mistakes.push('--mode merge needs --key, the columns that identify a row, such as --key website.');
  if (mode !== 'merge' && key.length > 0) mistakes.push('--key needs --mode merge.');
  const config = settings(context, from === null ? {} : { into: from, intoFlag: '--from' }, mistakes);
  return withRuntime(context, config, {}, async ({ runtime }) => {
    const done = await runtime.publish({ what, from, to, mode, key, partition });
    const target = printable(done.target);
    const lines = done.tables.map(
      ({ name, rows, total }) =>
        `${printable(name)}: ${some(rows, 'row')} published to ${target}${total === rows ? '' : `, which now has ${some(total, 'row')}`}`,
    );
    const same = `${target} has these rows of run ${printable(done.run)} already. Nothing was written.`;
    context.terminal.tell<Output<'publish'>>({ kind: 'publish', ...done }, done.changed ? lines.join('\n') : same);
  });
}
