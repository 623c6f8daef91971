import { join } from 'node:path';
import { fileRates } from '../../store/limiter/file-rates.js';
import { MemoryLimiter } from '../../store/limiter/memory-limiter.js';
import { QueuedLimiter } from '../../store/limiter/queued-limiter.js';
import { SharedRates } from '../../store/limiter/shared-rates.js';
import { rateProfileOf } from '../config/derived-settings.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { fingerprint, teamOf } from './team.js';

/** A bucket keeps a time for each unit of a second, so a file is for limits of real services. A test server may have a higher one. */
const MOST_IN_FILE = 1000;

/**
 * Opens the limiter of a team for all processes of a user on this machine. With a share of the limit (`--qps`), only processes of the same
 * state folder use the share; blocks are always those of the team. Each sandbox has its own limit, which one process uses.
 */
export function openLimiter(config: RuntimeConfig): QueuedLimiter {
  const profile = rateProfileOf(config);
  const isOwn = config.origin === 'sandbox' || profile.buckets.some(({ qps }) => qps > MOST_IN_FILE);
  if (isOwn) return new MemoryLimiter(profile, { unused: true });
  const dir = join(config.userStateDir, 'limits');
  const team = join(dir, sha256(teamOf(config)).slice(0, 24));
  const own = config.rateIsShare ? join(config.stateDir, 'limit') : team;
  const store = fileRates(`${own}.json`, `${team}.block.json`);
  return new QueuedLimiter(new SharedRates(profile, store, fingerprint(config.apiKey)));
}
