import { flatProfile, type RateProfile, rateProfiles, withKeyLimit } from '../../core/limiter/rate.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';

/** The rate profile of a configuration: the team's, and within it the key's own limit where it has one. */
export function rateProfileOf({ rate, keyQps }: Pick<RuntimeConfig, 'rate' | 'keyQps'>): RateProfile {
  const profile = 'qps' in rate ? flatProfile(rate.qps) : profileOf(rate.profile);
  return keyQps ? withKeyLimit(profile, keyQps) : profile;
}

function profileOf(named: string | RateProfile): RateProfile {
  if (typeof named !== 'string') return named;
  const profile = rateProfiles[named];
  if (profile) return profile;
  throw new UsageError(`There is no rate profile ${named}; there are ${Object.keys(rateProfiles).join(', ')}`);
}
