import type { Command } from 'commander';
import { many, withExamples, withRate } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

/** Adds the commands that mend a job: `retry`, `discard`, `forget`, `clean`. */
export function addMend(program: Command, chosen: (action: (context: Context) => Promise<ExitCode>) => void): void {
  const retry = withRate(program.command('retry').argument('<job>', 'name or id of the job'))
    .description('buy failed rows of a complete job again, and nothing else')
    .option(
      '--tag <tag>',
      'rows that failed with this error tag; repeatable (default: the tags of temporary failures)',
      many,
    )
    .option('--row <n>', 'row with this number, from 1; repeatable', many)
    .option('--max-cost <dollars>', 'cap of this run, such as 20; the run pauses at the cap; none: no cap')
    .option('--dry-run', 'the plan with cost and time only; nothing is bought')
    .option('--yes', 'no confirmation prompts')
    .option('--json', 'the summary (or plan) as one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./retry.js')).retry(context, job, flags)));
  withExamples(
    retry,
    'searchflow retry companies --dry-run',
    'searchflow retry companies --tag CRAWL_TIMEOUT --tag CRAWL_HTTP_503 --max-cost 2',
    'searchflow retry companies --row 17 --row 42',
  );
  const discard = program
    .command('discard')
    .argument('<job>', 'name or id of the job')
    .description('mark failed rows as discarded: they need no further retry, and do not count as failed')
    .option('--tag <tag>', 'rows that failed with this error tag; repeatable', many)
    .option('--row <n>', 'row with this number, from 1; repeatable', many)
    .option('--undo', 'let the rows count as failed again')
    .option('--json', 'one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./discard.js')).discard(context, job, flags)));
  withExamples(
    discard,
    'searchflow discard companies --tag CRAWL_NOT_FOUND',
    'searchflow discard companies --tag CRAWL_NOT_FOUND --undo',
  );
  const forget = program
    .command('forget')
    .argument('[job]', 'name or id of a job: all its rows')
    .description('remove the data of a job or of a URL for good: cells, answers and journal, not hashes and costs')
    .option('--url <url>', 'rows of all jobs whose unit or cells have this URL')
    .option('--dry-run', 'the plan only; nothing is removed')
    .option('--yes', 'no confirmation prompts')
    .option('--json', 'one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./forget.js')).forget(context, job, flags)));
  withExamples(
    forget,
    'searchflow forget --url https://example.com/jane --dry-run',
    'searchflow forget companies --yes',
  );
  const clean = program
    .command('clean')
    .argument('[job]', 'name or id of a job (default: all jobs, drafts and logs)')
    .description('remove the state of done jobs that nothing needs: staged rows, loaded answers, drafts, old logs')
    .option('--older-than <duration>', 'only of jobs that ended longer ago, such as 7d (default: 30d)')
    .option('--dry-run', 'only list the files to remove')
    .option('--json', 'one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./clean.js')).clean(context, job, flags)));
  withExamples(clean, 'searchflow clean --dry-run', 'searchflow clean companies --older-than 7d');
}
