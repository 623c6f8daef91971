import { UsageError } from '../../core/errors/coded-error.js';
import { flatProfile, type RateProfile, rateProfiles, withKeyLimit } from '../../core/limiter/rate.js';
import type { RuntimeConfig } from './runtime-types.js';

/** Most paid requests in flight. */
export const MAX_CONCURRENCY = 256;

/** The rate profile of a configuration: the team's limit and, if set, the lower limit of the key. Throws `UsageError` for an unknown name. */
export function rateProfileOf({ rate, keyQps }: Pick<RuntimeConfig, 'rate' | 'keyQps'>): RateProfile {
  const profile = 'qps' in rate ? flatProfile(rate.qps) : profileOf(rate.profile);
  return keyQps ? withKeyLimit(profile, keyQps) : profile;
}

function profileOf(named: string | RateProfile): RateProfile {
  if (typeof named !== 'string') return named;
  const profile = rateProfiles[named];
  if (profile) return profile;
  throw new UsageError(
    'setting-invalid',
    `The rate profile ${named} is unknown. Use ${Object.keys(rateProfiles).join(', ')}`,
  );
}
