import type { Command } from 'commander';

/** Groups of commands in `searchflow --help`, in this order. */
export const helpGroups = {
  jobs: 'Jobs:',
  events: 'Events:',
  agents: 'Agents:',
  monitors: 'Monitors:',
  schedules: 'Schedules:',
  team: 'Team:',
  setUp: 'Set up:',
  local: 'Local:',
} as const;

/** Parser of a repeatable flag. Collects all values of the flag. */
export const many = (value: string, before: readonly string[] | boolean = []): readonly string[] => [
  ...(typeof before === 'boolean' ? [] : before),
  value,
];

/** Ends the help of a command with command lines to copy. */
export function withExamples(command: Command, ...lines: readonly string[]): Command {
  const heading = lines.length === 1 ? 'Example:' : 'Examples:';
  return command.addHelpText('after', `\n${heading}\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Adds the flags for the form of an enriched CSV. */
export function withCsvForm(command: Command): Command {
  return command
    .option(
      '--csv-delimiter <char>',
      'delimiter of the enriched CSV: comma, tab, semicolon, pipe or one character (default: as the input)',
    )
    .option('--csv-bom', 'begin the enriched CSV with a byte order mark (default: as the input)')
    .option('--no-csv-bom', 'write the enriched CSV without a byte order mark');
}

/** Adds `--detach`, for commands that start long work. */
export function withDetach(command: Command): Command {
  return command.option(
    '--detach',
    'start the work on the workers, print its id and return; needs `searchflow worker`',
  );
}

/** Adds `--qps`, for commands whose calls are free. */
export function withQps(command: Command): Command {
  return command.option('--qps <n>', "this process's share of the team's rate, in requests per second (default: 10)");
}

/** Adds the options of a command that sends paid requests at the team's rate. */
export function withRate(command: Command): Command {
  return withQps(command)
    .option('--rate-profile <name>', 'rate profile instead of --qps: contract, boost, public or a JSON file')
    .option(
      '--concurrency <n>',
      'maximum number of paid requests in flight, 1 to 256 (default: enough for the rate limit at 5 s latency)',
    )
    .option('--keep-landing <days>', 'days that paid answers stay in the journal after they are loaded (default: 7)');
}

/** The flag by which requests are sent as they are. */
export const uncheckedOption = [
  '--unchecked',
  'send misspelt names and values of the request, too (default: they are refused, with the nearest name)',
] as const;
