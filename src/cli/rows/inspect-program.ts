import type { Command } from 'commander';
import { many, withExamples } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

/** Adds `failed`, the failed rows of a job, and `trace`, the history of one row. */
export function addInspection(
  program: Command,
  chosen: (action: (context: Context) => Promise<ExitCode>) => void,
): void {
  const failed = program
    .command('failed')
    .description('list the failed rows of a job: tag, message, attempts, cost, and whether a retry can help')
    .argument('<job>', 'name or id of the job')
    .option('--tag <tag>', 'only rows with this error tag, such as CRAWL_TIMEOUT; repeatable', many)
    .option('--limit <n>', 'number of rows to list, 0 to 1000 (default: 20)')
    .option('--json', 'one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./failed.js')).failed(context, job, flags)));
  withExamples(
    failed,
    'searchflow failed companies',
    'searchflow failed companies --tag CRAWL_TIMEOUT --limit 100 --json',
  );
  const trace = program
    .command('trace')
    .description('trace one row of a job: input, requests, cost, answer, load, and its state now')
    .argument('<job>', 'name or id of the job')
    .option('--row <n>', 'number of the row in the input, from 1')
    .option('--url <url>', 'URL of the row, instead of its number')
    .option('--answer', 'also the text of the answer, as it is kept in the journal')
    .option('--json', 'one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./trace.js')).trace(context, job, flags)));
  withExamples(trace, 'searchflow trace companies --row 17', 'searchflow trace companies --url https://example.com/');
}
