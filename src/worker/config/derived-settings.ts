import { usualAlerts } from '../../core/alerts/alert.js';
import { bucketsFor, flatProfile, type RateProfile, rateProfiles, withKeyLimit } from '../../core/limiter/rate.js';
import { DEFAULT_TASK_QUEUE } from '../../core/rows/job-names.js';
import type { RuntimeConfig } from './runtime-types.js';
import { MAX_CONCURRENCY, type Values } from './settings.js';

/** One week, which is long enough to notice that a warehouse was deleted. */
export const DEFAULT_KEEP_LANDING_MS = 7 * 86_400_000;
/** Default of the lag of a scheduled stream of events that is reported. */
const ALERT_LAG_MS = 7_200_000;

/** The settings of calls to the service, with their defaults. `setting`: the variable of the base URL; absent: an option. */
export function callSettings(values: Values, setting?: string) {
  const { qps, rateProfile, keyQps, prices, concurrency, secretFile } = values;
  const rate = qps === undefined ? { profile: rateProfile ?? 'contract' } : { qps };
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

/** The settings of a record, with their defaults. */
export function recordSettings(values: Values, cwd: string) {
  const { store, team, warehouseUrl, sourceUrl, paths, hosts, sinks, duckDbExtensions, maxCostPerJob } = values;
  return {
    ...{ store, team, warehouse: warehouseUrl, source: sourceUrl, sinks, duckDbExtensions },
    paths: paths ?? [cwd],
    hosts: hosts ?? [],
    keepLandingMs: values.keepLanding ?? DEFAULT_KEEP_LANDING_MS,
    maxCostPerJobMicros: maxCostPerJob,
    alerts: alertsOf(values),
    taskQueue: values.taskQueue ?? DEFAULT_TASK_QUEUE,
  };
}

function alertsOf({ alertUrl, alertSecret, alertCommand, alertOn, alertLag }: Values): RuntimeConfig['alerts'] {
  if (alertUrl === undefined && alertCommand === undefined) return null;
  return {
    url: alertUrl ?? null,
    secret: alertSecret ?? null,
    command: alertCommand ?? null,
    on: alertOn ?? usualAlerts,
    lagMs: alertLag === undefined ? ALERT_LAG_MS : alertLag,
  };
}
