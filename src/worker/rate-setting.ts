import { flatProfile, type RateProfile, rateProfiles, withKeyLimit } from '../core/rate.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';

/** The rate profile of a configuration: the team's, and within it the key's own limit where it has one. */
export function rateProfileOf({ rate, keyQps }: Pick<RuntimeConfig, 'rate' | 'keyQps'>): RateProfile {
  const profile = 'qps' in rate ? flatProfile(rate.qps) : rateProfiles[rate.profile];
  if (!profile) {
    const known = Object.keys(rateProfiles).join(', ');
    throw new UsageError(`There is no rate profile ${'profile' in rate ? rate.profile : ''}; there are ${known}`);
  }
  return keyQps ? withKeyLimit(profile, keyQps) : profile;
}
