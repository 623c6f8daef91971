import { type Command, Option } from 'commander';
import { withExamples, withRate } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** Adds the commands on the rate, the caps, the spending and the alerts of the team. */
export function addTeam(program: Command, chosen: Chosen): void {
  const limits = withRate(program.command('limits'))
    .description("the team's rate, agent runs, spending and caps")
    .option('--unblock', 'lift the block after a 429, and show the limits')
    .option('--json', 'one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./limits.js')).limits(context, flags)));
  withExamples(limits, 'searchflow limits', 'searchflow limits --unblock', 'searchflow limits set --per-day 20');
  const set = limits
    .command('set')
    .description('set the spending caps of the team')
    .option('--per-day <dollars>', 'cap for each UTC day, such as 20; none removes it')
    .option('--per-month <dollars>', 'cap for each UTC month, such as 500; none removes it')
    .action((flags) => chosen(async (context) => (await import('./limits.js')).setLimits(context, flags)));
  withExamples(set, 'searchflow limits set --per-day 20 --per-month 500', 'searchflow limits set --per-day none');
  const usage = program
    .command('usage')
    .description('requests and cost, by job, operation or day')
    .addOption(new Option('--by <group>', 'grouping').choices(['job', 'operation', 'day']).default('job'))
    .option('--since <day>', 'first day, as a UTC date (2026-11-01) or an age (30d)')
    .option('--until <day>', 'last day, in the format of --since')
    .option('--reconcile', "compare the journal with the service's bill by day; needs SEARCHFLOW_SERVICE_KEY")
    .option('--json', 'one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./usage.js')).usage(context, flags)));
  withExamples(
    usage,
    'searchflow usage',
    'searchflow usage --by day --since 30d',
    'searchflow usage --reconcile --since 7d',
  );
  const alerts = program.command('alerts').description('receivers of alerts');
  withExamples(alerts, 'searchflow alerts test');
  const test = alerts
    .command('test')
    .description('send a test alert to each receiver; exit code 1 if one does not accept it')
    .option('--json', 'one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./alerts.js')).testAlerts(context, flags)));
  withExamples(test, 'searchflow alerts test', 'searchflow alerts test --json');
}
