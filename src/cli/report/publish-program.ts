import { type Command, Option } from 'commander';
import { publishModes, publishPartitions } from '../../core/publish-request.js';
import { many, withExamples } from '../options/options.js';
import type { Context, ExitCode } from '../shared/context.js';

/** Adds `publish`, which copies a job, events or monitors to a target for other programs. */
export function addPublish(program: Command, chosen: (action: (context: Context) => Promise<ExitCode>) => void): void {
  const publish = program
    .command('publish')
    .description('copy the rows of a job, the current state of events, or monitors to a target, in one step')
    .argument('<what>', 'name or id of a job, events or monitors')
    .requiredOption(
      '--to <target>',
      'folder (out/lake), s3://bucket/prefix, .duckdb file, ducklake:<file>, or postgres://host/database',
    )
    .option(
      '--from <address>',
      'warehouse of events or monitors (default: as in events status and monitors export), or the warehouse of the job with its user',
    )
    .addOption(new Option('--mode <mode>', 'effect on rows of the target').choices(publishModes).default('replace'))
    .option('--key <column>', 'column that identifies a row, for --mode merge; repeatable', many)
    .addOption(
      new Option('--partition <by>', 'folders by run or by day of the publish (UTC); default: none').choices(
        publishPartitions,
      ),
    )
    .option('--json', 'one JSON object on stdout')
    .action((what, flags) => chosen(async (context) => (await import('./publish.js')).publish(context, what, flags)));
  withExamples(
    publish,
    'searchflow publish companies --to out/lake',
    'searchflow publish companies --to out/lake --mode merge --key website',
    'searchflow publish companies --to out/lake.duckdb --mode append',
    'searchflow publish events --to out/websets --mode append --partition day',
  );
}
