import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { helpGroups } from '../../../src/cli/options/options.js';
import { buildProgram } from '../../../src/cli/program.js';

/** The text that `--help` of a command prints, at a width that breaks no line. */
function helpOf(command: Command): string {
  let text = '';
  const writeOut = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut, getOutHelpWidth: () => 1000 }).outputHelp();
  return text;
}

const program = () => buildProgram('0.0.0', () => undefined);
const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

/** The command lines under `Examples:` at the end of a help text. */
function examplesIn(help: string): string[] {
  const [, lines = ''] = /\nExamples?:\n((?: {2}searchflow .*\n)+)$/.exec(help) ?? [];
  return lines.split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]));
}

it('the help groups the commands', () => {
  const help = helpOf(program());
  const headings = Object.values(helpGroups);
  expect(headings.filter((heading) => help.includes(`\n${heading}\n`))).toEqual(headings);
  expect(help).not.toContain('\nCommands:\n');
  for (const command of program().commands) expect(headings).toContain(command.helpGroup());
});

it.each(all(program()).map((command) => [nameOf(command), command] as const))(
  '%s --help ends with examples that the command line accepts',
  async (name, command) => {
    const examples = examplesIn(helpOf(command));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(example.startsWith(name) || command.commands.length > 0).toBe(true);
      const words = example.match(/'[^']*'|\S+/g)?.map((word) => word.replace(/^'|'$/g, '')) ?? [];
      let chosen = 0;
      const typed = buildProgram('0.0.0', () => void chosen++, { writeOut: () => undefined });
      const error = await typed.parseAsync(words.slice(1), { from: 'user' }).then(
        () => null,
        (reason: { readonly code: string }) => reason.code,
      );
      expect([example, chosen, error]).toEqual(
        example.endsWith('--help') ? [example, 0, 'commander.helpDisplayed'] : [example, 1, null],
      );
    }
  },
);
