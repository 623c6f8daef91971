import { bucketsFor, flatProfile, type RateProfile, rateProfiles, withKeyLimit } from '../../core/limiter/rate.js';
import type { RuntimeConfig } from './runtime-types.js';
import { MAX_CONCURRENCY, type Values } from './settings.js';

/** The settings of calls to the service, with their defaults. `setting`: the variable of the base URL; absent: an option. */
export function callSettings(values: Values, setting?: string) {
  const { qps, rateProfile, keyQps, prices, concurrency, secretFile } = values;
  const rate = qps === undefined ? { profile: rateProfile } : { qps };
  const { auth, headers, beta, betaHeader, unchecked, proxy } = values;
  return {
    ...{ rate, keyQps, prices, secretFile },
    concurrency: concurrency ?? Math.min(MAX_CONCURRENCY, 5 * contentsQps(rate)),
    wire: { auth, headers, beta, betaHeader, unchecked, proxy, setting },
  };
}

/** Number of requests for page contents that a rate allows per second. */
export function contentsQps(rate: RuntimeConfig['rate']): number {
  return Math.min(...bucketsFor(rateProfileOf({ rate }), 'contents').map((bucket) => bucket.qps));
}

/** The rate profile of a configuration: the team's limit and, if set, the lower limit of the key. */
export function rateProfileOf({ rate, keyQps }: Pick<RuntimeConfig, 'rate' | 'keyQps'>): RateProfile {
  const named = 'qps' in rate ? flatProfile(rate.qps) : rate.profile;
  const profile = typeof named === 'string' ? (rateProfiles[named] as RateProfile) : named;
  return keyQps ? withKeyLimit(profile, keyQps) : profile;
}

/** The settings of a record that are made of several. */
export function recordSettings(values: Values) {
  const { alertUrl: url = null, alertSecret: secret = null, alertCommand: command = null } = values;
  const { warehouseUrl: warehouse, sourceUrl: source, maxCostPerJob: maxCostPerJobMicros } = values;
  const alerts = { url, secret, command, on: values.alertOn, lagMs: values.alertLag };
  return { warehouse, source, maxCostPerJobMicros, alerts: (url ?? command) === null ? null : alerts };
}
