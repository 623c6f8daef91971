import { Argument, type Command } from 'commander';
import { withExamples } from '../options/options.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { shells } from './shells.js';

/** Adds `completion`, which prints the script that makes a shell complete command lines. */
export function addCompletion(
  program: Command,
  chosen: (action: (context: Context) => Promise<ExitCode>) => void,
): void {
  const completion = program
    .command('completion')
    .description(
      'print the script that completes commands, flags and names in a shell; its first lines say how to load it',
    )
    .addArgument(new Argument('<shell>', 'shell of the script').choices(shells))
    .argument('[words...]', 'used by the script: the words of the command line up to the cursor, after --')
    .action((shell, words, _flags, command) => {
      // Only words after `--` are words to complete.
      if (words.length > 0 && !rawArgs(program).includes('--'))
        command.error(`error: too many arguments: '${words[0]}'`, { exitCode: exitCodes.usage });
      chosen(async (context) => (await import('./completion.js')).completion(context, program, shell, words));
    });
  withExamples(completion, 'searchflow completion bash', 'searchflow completion zsh', 'searchflow completion fish');
}

/** The words of the command line, which the types of commander leave out. */
const rawArgs = (program: Command) => (program as Command & { readonly rawArgs: readonly string[] }).rawArgs;
