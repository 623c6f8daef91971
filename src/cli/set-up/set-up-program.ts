import type { Command } from 'commander';
import { withExamples } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** Adds the commands that set up a folder and examine a setup. */
export function addSetUp(program: Command, chosen: Chosen): void {
  const init = program
    .command('init')
    .description('write a folder with settings, an example job and its test; replaces no file')
    .argument('[folder]', 'folder to write to (default: the working folder)')
    .option('--json', 'one JSON object on stdout')
    .action((folder, flags) => chosen(async (context) => (await import('./init.js')).init(context, folder, flags)));
  withExamples(init, 'searchflow init', 'searchflow init companies');
  const doctor = program
    .command('doctor')
    .description('check that jobs can run here, and say what to do; buys and changes nothing')
    .option('--json', 'one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./doctor.js')).doctor(context, flags)));
  withExamples(doctor, 'searchflow doctor', 'searchflow doctor --settings .env --json');
}
