import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { mayHoldSecret } from '../../core/connections/secret.js';
import { UsageError } from '../../core/errors/coded-error.js';
import { DEFAULT_TASK_QUEUE } from '../../core/rows/job-names.js';
import { toMicros } from '../../core/text/money.js';
import { whyNotOwn } from '../../files/make-folder.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { parseServer, pathsOf } from '../config/allowlist.js';
import { DEFAULT_KEEP_LANDING_MS } from '../config/config.js';
import type { DatabaseAddress, RuntimeConfig } from '../config/runtime-types.js';
import { databaseSource } from '../config/source-setting.js';
import { databaseWarehouse, storeAddress } from '../config/store-setting.js';
import type { AloneConfig } from './alone.js';
import { alertsOf, type SearchflowPluginOptions, stateDirOf } from './plugin-options.js';

/** The settings of a worker with a record. Throws `UsageError` for an address, server or folder that cannot be used. */
export function recordConfig(options: SearchflowPluginOptions, alone: AloneConfig): RuntimeConfig {
  const stateDir = stateDirOf(options);
  const foreign = options.trustStateDir ? null : whyNotOwn(stateDir);
  if (foreign !== null)
    throw new UsageError(
      'state-folder-unusable',
      `stateDir: ${stateDir} ${foreign}. Change its owner or permissions, or set trustStateDir.`,
    );
  const otherFormat = whyOtherFormat(stateDir, stateDir);
  if (otherFormat !== null) throw new UsageError('state-folder-unusable', otherFormat);
  return {
    ...alone,
    stateDir,
    userStateDir: join(homedir(), '.local', 'state', 'searchflow'),
    store: addressed('store', options.store, storeAddress),
    team: options.team ?? null,
    warehouse: addressed('warehouseUrl', options.warehouseUrl, databaseWarehouse),
    source: addressed('sourceUrl', options.sourceUrl, databaseSource),
    paths: pathsOf(options.paths, process.cwd()),
    hosts: (options.hosts ?? []).map(serverOption),
    duckDbExtensions: options.duckDbExtensions === undefined ? null : resolve(options.duckDbExtensions),
    rateIsShare: options.qps !== undefined,
    keepLandingMs: DEFAULT_KEEP_LANDING_MS,
    maxCostPerJobMicros: options.maxCostPerJob === undefined ? null : toMicros(options.maxCostPerJob),
    alerts: alertsOf(options).alerts,
    temporalAddress: null,
    namespace: 'default',
    taskQueue: DEFAULT_TASK_QUEUE,
  };
}

function serverOption(host: string): string {
  try {
    return parseServer(host);
  } catch {
    const shown = mayHoldSecret(host) ? 'a value (not shown)' : JSON.stringify(host);
    throw new UsageError(
      'setting-invalid',
      `hosts: ${shown} is not a database server such as db.internal or db.internal:6432.`,
    );
  }
}

function addressed(
  option: string,
  url: string | undefined,
  parse: (url: string) => DatabaseAddress,
): DatabaseAddress | null {
  if (url === undefined) return null;
  try {
    return parse(url);
  } catch (error) {
    throw new UsageError(
      'setting-invalid',
      `${option} (not shown) ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
