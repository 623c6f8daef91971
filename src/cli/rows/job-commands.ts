import type { Command } from 'commander';
import { many, withCsvForm, withExamples, withRate } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

const control = () => import('./control.js');

/** Adds `jobs`, the list of jobs, and the commands on one job: `status`, `pause`, `resume`, `cancel`, `export`. */
export function addJobs(program: Command, chosen: Chosen): void {
  const jobs = program
    .command('jobs')
    .description('list the jobs of this folder or store, with their next runs')
    .option('--state <state>', 'only jobs in this state, such as paused; repeatable', many)
    .option('--json', 'one JSON array on stdout')
    .action((flags) => chosen(async (context) => (await import('./jobs.js')).jobs(context, flags)));
  withExamples(jobs, 'searchflow jobs', 'searchflow jobs --state paused --state failed --json');
  const status = withJobName(program.command('status'))
    .description('show the state, rows and cost of a job')
    .option('--json', 'one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./status.js')).status(context, job, flags)));
  withExamples(status, 'searchflow status companies', 'searchflow status companies --json');
  const pause = withJobName(program.command('pause'))
    .description('pause a job; paid requests in flight still land')
    .action((job) => chosen(async (context) => (await control()).pause(context, job)));
  withExamples(pause, 'searchflow pause companies');
  const resume = withRate(withJobName(program.command('resume')))
    .description('resume a job and watch it until it ends')
    .option('--max-cost <dollars>', 'new cap of the whole run, such as 20; none removes it (default: unchanged)')
    .option('--redrive', 'at the end, also buy again the rows whose failure was or may have been charged')
    .option('--skip-refused', 'count refused rows as failed, even if the service refuses all rows')
    .option(
      '--stop-at-failed <percent>',
      'new share of failed answers at which the job pauses, such as 40%; none removes it (default: unchanged)',
    )
    .option('--stop-after <n>', 'rows that are answered before --stop-at-failed counts (default: 50)')
    .option('--accept-warning <code>', 'warning of the service that does not pause the job; repeatable', many)
    .option('--detach', 'resume the job on the workers, print its id and return; needs `searchflow worker`')
    .option('--json', 'the summary as one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await control()).resume(context, job, flags)));
  withExamples(resume, 'searchflow resume companies', 'searchflow resume companies --max-cost 20');
  const wait = withJobName(program.command('wait'))
    .description('wait until a job ends or pauses, with the exit code of its own command; Ctrl-C ends only the wait')
    .option('--timeout <duration>', 'maximum wait, such as 2h; then exit code 7 (default: no limit)')
    .option(
      '--fail-on-failed-rows [n|%]',
      'exit code 3 if more than n rows, or n% of the tried rows, fail; without a value: if any row fails',
    )
    .option('--json', 'the summary as one JSON object on stdout')
    .action((job, flags) => chosen(async (context) => (await import('./wait.js')).wait(context, job, flags)));
  withExamples(wait, 'searchflow wait companies', 'searchflow wait companies --timeout 2h --json');
  const cancel = withJobName(program.command('cancel'))
    .description('cancel a job; paid results are kept')
    .action((job) => chosen(async (context) => (await control()).cancel(context, job)));
  withExamples(cancel, 'searchflow cancel companies');
  const write = withCsvForm(withJobName(program.command('export')))
    .description('write the rows of a job to files, at any time')
    .option('--csv <file>', 'enriched CSV; - for stdout')
    .option('--parquet <dir>', 'folder for Parquet files')
    .action((job, flags) => chosen(async (context) => (await import('./export.js')).exportJob(context, job, flags)));
  withExamples(
    write,
    'searchflow export companies --csv out/companies.csv',
    'searchflow export companies --parquet out/companies',
  );
}

function withJobName(command: Command): Command {
  return command.argument('<job>', 'name or id of the job');
}
