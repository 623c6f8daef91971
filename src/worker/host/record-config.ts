import { homedir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../../core/errors/coded-error.js';
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
