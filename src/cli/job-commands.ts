import type { CommandSpec } from './shared/command.js';

const control = () => import('./rows/control.js');

const job = { '<job>': 'name or id of the job' };
export const rowsFile = {
  '[file]':
    'CSV, JSON Lines or Parquet file, DuckDB file with --sql or --table, or postgres://host/database with --sql; - for stdin',
};

export const jobCommands: Readonly<Record<string, CommandSpec>> = {
  enrich: {
    about:
      'buy page contents (or another --op) for every row of a table; run the same command again to resume a stopped job',
    args: rowsFile,
    run: async () => (await import('./rows/enrich.js')).enrich,
    examples: [
      'searchflow enrich companies.csv --url-column website --dry-run',
      'searchflow enrich companies.csv --url-column website --csv out/companies.csv --max-cost 20',
      "searchflow enrich companies.csv --op search --query '{{name}} official site' --num-results 5",
    ],
  },
  jobs: {
    about: 'list the jobs of this folder or store, with their next runs',
    run: async () => (await import('./rows/jobs.js')).jobs,
    examples: ['searchflow jobs', 'searchflow jobs --state paused --state failed --json'],
  },
  status: {
    about: 'show the state, rows and cost of a job',
    args: job,
    run: async () => (await import('./rows/status.js')).status,
    examples: ['searchflow status companies', 'searchflow status companies --json'],
  },
  pause: {
    about: 'pause a job; paid requests in flight still land',
    args: job,
    run: async () => (await control()).pause,
    examples: ['searchflow pause companies'],
  },
  resume: {
    about: 'resume a job and watch it until it ends',
    args: job,
    run: async () => (await control()).resume,
    examples: ['searchflow resume companies', 'searchflow resume companies --max-cost 20'],
  },
  wait: {
    about: 'wait until a job ends or pauses, with the exit code of its own command; Ctrl-C ends only the wait',
    args: job,
    run: async () => (await import('./rows/control.js')).wait,
    examples: ['searchflow wait companies', 'searchflow wait companies --timeout 2h --json'],
  },
  cancel: {
    about: 'cancel a job; paid results are kept',
    args: job,
    run: async () => (await control()).cancel,
    examples: ['searchflow cancel companies'],
  },
  export: {
    about: 'write the rows of a job to files, at any time',
    args: job,
    run: async () => (await import('./rows/export.js')).exportJob,
    examples: [
      'searchflow export companies --csv out/companies.csv',
      'searchflow export companies --parquet out/companies',
    ],
  },
  retry: {
    about: 'buy failed rows of a complete job again, and nothing else',
    args: job,
    run: async () => (await import('./retry.js')).retry,
    examples: [
      'searchflow retry companies --dry-run',
      'searchflow retry companies --tag CRAWL_TIMEOUT --tag CRAWL_HTTP_503 --max-cost 2',
      'searchflow retry companies --row 17 --row 42',
    ],
  },
  discard: {
    about: 'mark failed rows as discarded: they need no further retry, and do not count as failed',
    args: job,
    run: async () => (await import('./retry.js')).discard,
    examples: [
      'searchflow discard companies --tag CRAWL_NOT_FOUND',
      'searchflow discard companies --tag CRAWL_NOT_FOUND --undo',
    ],
  },
  forget: {
    about: 'remove the data of a job or of a URL for good: cells, answers and journal, not hashes and costs',
    args: { '[job]': 'name or id of a job: all its rows' },
    run: async () => (await import('./forget.js')).forget,
    examples: ['searchflow forget --url https://example.com/jane --dry-run', 'searchflow forget companies --yes'],
  },
  clean: {
    about: 'remove the state of done jobs that nothing needs: staged rows, loaded answers, drafts, old logs',
    args: { '[job]': 'name or id of a job (default: all jobs, drafts and logs)' },
    run: async () => (await import('./forget.js')).clean,
    examples: ['searchflow clean --dry-run', 'searchflow clean companies --older-than 7d'],
  },
  failed: {
    about: 'list the failed rows of a job: tag, message, attempts, cost, and whether a retry can help',
    args: job,
    run: async () => (await import('./rows/inspect.js')).failed,
    examples: ['searchflow failed companies', 'searchflow failed companies --tag CRAWL_TIMEOUT --limit 100 --json'],
  },
  trace: {
    about: 'trace one row of a job: input, requests, cost, answer, load, and its state now',
    args: job,
    run: async () => (await import('./rows/inspect.js')).trace,
    examples: ['searchflow trace companies --row 17', 'searchflow trace companies --url https://example.com/'],
  },
  publish: {
    about: 'copy the rows of a job, the current state of events, or monitors to a target, in one step',
    args: { '<what>': 'name or id of a job, events or monitors' },
    run: async () => (await import('./rows/export.js')).publish,
    examples: [
      'searchflow publish companies --to out/lake',
      'searchflow publish companies --to out/lake --mode merge --key website',
      'searchflow publish companies --to out/lake.duckdb --mode append',
      'searchflow publish events --to out/websets --mode append --partition day',
    ],
  },
  report: {
    about: 'write progress, cost, use of the limit, failures and runs as one HTML file without script',
    args: { '<what>': 'name or id of a job, or team' },
    run: async () => (await import('./report/report.js')).report,
    examples: [
      'searchflow report companies',
      'searchflow report companies --out out/companies.html --open',
      'searchflow report team --since 7d',
      'searchflow report team --json',
    ],
  },
};
