import type { Command } from 'commander';
import { withExamples } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

type Chosen = (action: (context: Context) => Promise<ExitCode>) => void;

/** Adds the commands on alerts. */
export function addAlerts(program: Command, chosen: Chosen): void {
  const alerts = program
    .command('alerts')
    .description('the latest alerts and their deliveries')
    .option('--limit <n>', 'number of alerts, 1 to 1000 (default: 20)')
    .option('--undelivered', 'only alerts that a receiver has not accepted')
    .option('--json', 'one JSON object on stdout')
    .action((flags) => chosen(async (context) => (await import('./alerts.js')).alerts(context, flags)));
  withExamples(alerts, 'searchflow alerts', 'searchflow alerts --undelivered --json', 'searchflow alerts test');
  const test = alerts
    .command('test')
    .description('send a test alert to each receiver; exit code 1 if one does not accept it')
    .option('--json', 'one JSON object on stdout')
    .action((_flags, command) =>
      chosen(async (context) => (await import('./alerts.js')).testAlerts(context, command.optsWithGlobals())),
    );
  withExamples(test, 'searchflow alerts test', 'searchflow alerts test --json');
  const retry = alerts
    .command('retry')
    .description('send all alerts now that are not delivered yet; exit code 1 if one is not accepted')
    .option('--json', 'one JSON object on stdout')
    .action((_flags, command) =>
      chosen(async (context) => (await import('./alerts.js')).retryAlerts(context, command.optsWithGlobals())),
    );
  withExamples(retry, 'searchflow alerts retry');
}
