import type { Output } from '../../api/outputs/index.js';
import { examine } from '../../worker/doctor/examine.js';
import type { Finding } from '../../worker/doctor/finding.js';
import { type Context, type ExitCode, exitCodes, signalExitCodes } from '../shared/command.js';
import { printableLines, some } from '../text.js';

export async function doctor({ terminal, interrupts, env, cwd }: Context): Promise<ExitCode> {
  terminal.show('Checking …');
  const found = await Promise.race([examine({ env, cwd }), interrupts.first.then((name) => ({ name }))]);
  terminal.show('');
  if ('name' in found) {
    terminal.say('Stopped; nothing was changed.');
    return signalExitCodes[found.name];
  }
  const data = doctorData(found);
  terminal.print(data, [...doctorLines(found), `\n${some(data.problems, 'problem')}.`].join('\n'));
  return data.problems > 0 ? exitCodes.failed : exitCodes.ok;
}

/** The object of `--json`. */
export function doctorData(found: readonly Finding[]): Output<'doctor'> {
  const checks = found.map(({ why, mend, ...rest }) => ({
    ...rest,
    why: printableLines(why),
    mend: mend === null ? null : printableLines(mend),
  }));
  return { kind: 'doctor', problems: found.filter(({ ok }) => !ok).length, checks };
}

/** A line for each finding, and below it what to do. */
export function doctorLines(found: readonly Finding[]): string[] {
  const width = Math.max(...found.map(({ check }) => check.length));
  const indent = ' '.repeat('problem'.length + width + 4);
  const level = ({ ok, mend }: Finding) => (ok ? (mend === null ? 'ok' : 'note') : 'problem');
  const indented = (text: string) => printableLines(text).replaceAll('\n', `\n${indent}`);
  return found.flatMap((one) => {
    const line = `${level(one).padEnd('problem'.length)}  ${one.check.padEnd(width)}  ${indented(one.why)}`;
    return one.mend === null ? [line] : [line, `${indent}${indented(one.mend)}`];
  });
}
