import type { Command } from 'commander';
import { withExamples } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

/** Adds `report`, which writes the figures of a job or of the team as one HTML file. */
export function addReport(program: Command, chosen: (action: (context: Context) => Promise<ExitCode>) => void): void {
  const report = program
    .command('report')
    .description('write progress, cost, use of the limit, failures and runs as one HTML file without script')
    .argument('<what>', 'name or id of a job, or team')
    .option('--out <file>', 'file that is written, ending with .html; - for stdout (default: out/NAME-report.html)')
    .option('--since <day>', 'first day, as a UTC date (2026-11-01) or an age (30d)', '30d')
    .option('--until <day>', 'last day, in the format of --since (default: today)')
    .option('--open', 'open the file in the browser; only on a terminal')
    .option('--json', 'the figures as one JSON object on stdout; writes no file without --out')
    .action((what, flags) => chosen(async (context) => (await import('./report.js')).report(context, what, flags)));
  withExamples(
    report,
    'searchflow report companies',
    'searchflow report companies --out out/companies.html --open',
    'searchflow report team --since 7d',
    'searchflow report team --json',
  );
}
