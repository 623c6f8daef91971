import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { options } from '../../../src/cli/options.js';
import { buildProgram } from '../../../src/cli/program.js';
import { readFlags } from '../../../src/cli/readers.js';
import { enrichCsv, runBounds } from '../../../src/core/row-job-schemas.js';
import { wordsOf } from '../../support/cli/type-command.js';
import { commandsIn, examplesIn, helpOf } from '../../support/cli/wrong-lines.js';

const program = () => buildProgram('0.0.0', () => undefined);
const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

it.each(commandsIn(program()).map((command) => [nameOf(command), command] as const))(
  '%s --help ends with examples that the command line accepts',
  async (name, command) => {
    const examples = examplesIn(helpOf(command));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(example.startsWith(name) || command.commands.length > 0).toBe(true);
      const words = wordsOf(example);
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

it('each field of the input of a job has a flag that sets it, except those that a command derives', () => {
  const set = Object.entries(options.enrich).flatMap(([flag, spec]) => {
    const value = typeof spec === 'object' && 'many' in spec ? ['1'] : '1';
    const typed = new Proxy({}, { get: () => value });
    return Object.keys(readFlags({ [flag]: '' }, typed, { cwd: '.', now: 0 }).flags);
  });
  const missing = Object.keys(enrichCsv.shape).filter((field) => !set.includes(field));
  expect(missing.sort().join(' ')).toBe(
    'beta extraHeaders freshness host input options origin scheduled staged template',
  );
});

it('each field of the input of a job is used by its stage, or bounds a run: others do not reach the workflow', () => {
  const staged = Object.keys(enrichCsv.shape).filter((field) => !(field in runBounds.shape));
  expect(staged.join(' ')).toBe(
    'input into csv job csvDelimiter csvBom delimiter encoding key format sql table freshness refreshAfterMs retryFailed ' +
      'rowsPerRun beta extraHeaders unchecked origin host scheduled staged urlColumn defaultScheme operation template ' +
      'options batch limit',
  );
});
