import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { inPackage } from '../../files/package-root.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import type { Context, ExitCode } from '../shared/context.js';
import { settings } from '../shared/settings.js';
import { toEnrichRequest } from './enrich-request.js';
import { runEnrich } from './run-enrich.js';

export interface StartFlags {
  readonly live?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly qps?: string;
}

/** Half of the contract's rate. At this speed a person can watch the 35 requests of the demonstration. */
const DEMO_QPS = '5';

/**
 * `searchflow start` or `npm start`: enriches the example brands on the sandbox, even if an API key is set. With `--live`,
 * uses the real service, after a confirmation.
 */
export async function start(context: Context, flags: StartFlags): Promise<ExitCode> {
  const file = inPackage('examples', 'brands.csv');
  if (!existsSync(file)) {
    throw new UsageError('installation-incomplete', `${file} is missing: install searchflow again.`);
  }
  const live = flags.live ?? false;
  const name = live ? 'brands-live' : 'brands';
  const request = toEnrichRequest(
    relative(context.cwd, file) || file,
    { urlColumn: 'source', job: name, into: `out/${name}.duckdb`, csv: `out/${name}.csv`, text: true },
    context.cwd,
    [],
  );
  const config = settings(context, {
    service: live ? 'live' : 'sandbox',
    qps: flags.qps ?? (live || context.env.SEARCHFLOW_QPS ? undefined : DEMO_QPS),
  });
  const { yes = false, json = false, dryRun = false } = flags;
  return runEnrich(context, config, request, { json, dryRun, yes, asksAlways: live });
}
