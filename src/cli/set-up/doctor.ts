import type { Output } from '../../api/command-outputs.js';
import type { Finding } from '../../worker/doctor/databases.js';
import { examine } from '../../worker/doctor/examine.js';
import { type Context, type ExitCode, exitCodes, signalExitCodes } from '../shared/command.js';
import { lines, printableLines, some } from '../text.js';

export async function doctor({ terminal, interrupts, env, cwd }: Context): Promise<ExitCode> {
  terminal.show('Checking …');
  const found = await Promise.race([examine({ env, cwd }), interrupts.first.then((name) => ({ name }))]);
  terminal.show('');
  if ('name' in found) {
    terminal.say('Stopped; nothing was changed.');
    return signalExitCodes[found.name];
  }
  const data = doctorData(found);
  terminal.print(data, doctorText(data));
  return data.problems > 0 ? exitCodes.failed : exitCodes.ok;
}

export function doctorData(found: readonly Finding[]): Output<'doctor'> {
  const checks = found.map(({ why, mend, ...rest }) => ({
    ...rest,
    why: printableLines(why),
    mend: mend === null ? null : printableLines(mend),
  }));
  return { kind: 'doctor', problems: found.filter(({ ok }) => !ok).length, checks };
}

export function doctorText({ checks, problems }: Output<'doctor'>): string {
  const width = Math.max(...checks.map(({ check }) => check.length));
  const indent = ' '.repeat('problem'.length + width + 4);
  const indented = (text: string) => text.replaceAll('\n', `\n${indent}`);
  return lines(
    checks.map(({ check, ok, why, mend }) => {
      const level = ok ? (mend === null ? 'ok' : 'note') : 'problem';
      const line = `${level.padEnd('problem'.length)}  ${check.padEnd(width)}  ${indented(why)}`;
      return [line, mend !== null && `${indent}${indented(mend)}`];
    }),
    `\n${some(problems, 'problem')}.`,
  );
}
