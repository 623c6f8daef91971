import type { DoctorOutput } from '../../api/outputs/index.js';
import { examine } from '../../worker/doctor/examine.js';
import type { Finding, Level } from '../../worker/doctor/finding.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { signalExitCodes } from '../shared/signals.js';
import { some } from '../text/amounts.js';
import { printable, printableLines } from '../text/printable.js';

/** `searchflow doctor`: examines the setup. Exit code 1 if it has a problem. */
export async function doctor(context: Context, { json = false }: { readonly json?: boolean }): Promise<ExitCode> {
  const { terminal, interrupts, env, cwd } = context;
  terminal.show('Checking …');
  const found = await Promise.race([examine({ env, cwd }), interrupts.first.then((name) => ({ name }))]);
  terminal.show('');
  if ('name' in found) {
    terminal.say('Stopped; nothing was changed.');
    return signalExitCodes[found.name];
  }
  const levels = levelsOf(found);
  if (json) terminal.data(JSON.stringify(doctorData(found)));
  else {
    for (const line of doctorLines(found)) terminal.data(line);
    terminal.data(`\n${some(levels.problem, 'problem')}, ${some(levels.warning, 'warning')}.`);
  }
  return levels.problem > 0 ? exitCodes.failed : exitCodes.ok;
}

const levelsOf = (found: readonly Finding[]): Record<Level, number> => {
  const levels = { ok: 0, warning: 0, problem: 0, skipped: 0 };
  for (const { level } of found) levels[level]++;
  return levels;
};

/** The object of `--json`. */
export function doctorData(found: readonly Finding[]): DoctorOutput {
  const { problem, warning } = levelsOf(found);
  const checks = found.map(({ text, mend, command, ...rest }) => ({
    ...rest,
    text: printable(text, 2000),
    mend: mend === null ? null : printable(mend, 2000),
    command: command === null ? null : printable(command, 2000),
  }));
  return { kind: 'doctor', problems: problem, warnings: warning, checks };
}

/** A line for each finding, below it what to do, and a command on a line of its own. */
export function doctorLines(found: readonly Finding[]): string[] {
  const width = Math.max(...found.map(({ check }) => check.length));
  const indent = ' '.repeat('problem'.length + width + 4);
  return found.flatMap(({ check, level, text, mend, command }) => [
    `${level.padEnd('problem'.length)}  ${check.padEnd(width)}  ${indented(text, indent)}`,
    ...(mend === null ? [] : [`${indent}${indented(mend, indent)}`]),
    ...(command === null ? [] : [`${indent}  ${indented(command, `${indent}  `)}`]),
  ]);
}

const indented = (text: string, indent: string) => printableLines(text).replaceAll('\n', `\n${indent}`);
