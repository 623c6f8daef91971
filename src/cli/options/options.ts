import type { Command } from 'commander';

/** `--flag VALUE` that may be given again. */
export const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** The options of a command that works at the team's rate. */
export function withRate(command: Command): Command {
  return command
    .option('--qps <n>', "requests a second of the team's limit that are yours (default: 10)")
    .option('--rate-profile <name>', 'contract, boost, public or a JSON file instead of --qps')
    .option('--concurrency <n>', 'paid requests in flight at most')
    .option('--keep-landing <days>', 'how long bought answers stay in the journal beside the warehouse (default: 7)');
}
