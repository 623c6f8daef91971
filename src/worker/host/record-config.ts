import { homedir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../../core/errors/coded-error.js';
import type { Sink } from '../../core/rows/sink.js';
import { whyNotOwn } from '../../files/make-folder.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { recordSettings } from '../config/derived-settings.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { Values } from '../config/settings.js';
import type { AloneConfig } from './alone.js';

/** The settings of a worker with a record in a folder. Throws `UsageError` for a folder that cannot be used. */
export function recordConfig(values: Values, alone: AloneConfig, stateDir: string): RuntimeConfig {
  const foreign = values.trustStateDir ? null : whyNotOwn(stateDir);
  if (foreign !== null)
    throw new UsageError(
      'state-folder-unusable',
      `stateDir: ${stateDir} ${foreign}. Change its owner or permissions, or set trustStateDir.`,
    );
  const otherFormat = whyOtherFormat(stateDir, stateDir);
  if (otherFormat !== null) throw new UsageError('state-folder-unusable', otherFormat);
  for (const [name, sink] of Object.entries(values.sinks ?? {})) {
    const problem = sinkProblem(name, sink);
    if (problem !== null) throw new UsageError('setting-invalid', `sinks: ${name} ${problem}.`);
  }
  return {
    ...alone,
    ...recordSettings(values, process.cwd()),
    stateDir,
    userStateDir: join(homedir(), '.local', 'state', 'searchflow'),
    rateIsShare: values.qps !== undefined,
    temporalAddress: null,
    namespace: 'default',
  };
}

/** Longest time limit of a load into a sink, in seconds: an activity of Temporal has 30 minutes. */
const MOST_LOAD_SECONDS = 1500;

function sinkProblem(name: string, sink: Partial<Sink> | null): string | null {
  const { load, timeoutSeconds = 1 } = sink ?? {};
  if (!/^[a-z][a-z0-9_]{0,29}$/.test(name)) return 'is not a name of at most 30 of the characters a to z, 0 to 9 and _';
  if (typeof load !== 'function') return 'has no function load';
  return timeoutSeconds >= 1 && timeoutSeconds <= MOST_LOAD_SECONDS
    ? null
    : `has a timeoutSeconds that is not from 1 to ${MOST_LOAD_SECONDS}`;
}
