import { nearest } from '../../core/text/nearest.js';

/** Variables that mean something; another one that begins with `SEARCHFLOW_` is warned of. */
export const knownVariables = [
  'SEARCHFLOW_API_KEY',
  'SEARCHFLOW_BASE_URL',
  'SEARCHFLOW_QPS',
  'SEARCHFLOW_RATE_PROFILE',
  'SEARCHFLOW_PRICES',
  'SEARCHFLOW_CONCURRENCY',
  'SEARCHFLOW_STATE_DIR',
  'SEARCHFLOW_TRUST_STATE_DIR',
  'SEARCHFLOW_KEEP_LANDING_DAYS',
  'SEARCHFLOW_TASK_QUEUE',
  'SEARCHFLOW_STORE',
  'SEARCHFLOW_TEAM',
  'SEARCHFLOW_KEY_QPS',
  'SEARCHFLOW_WAREHOUSE_URL',
  'SEARCHFLOW_DEAD_AFTER_SECONDS',
  'SEARCHFLOW_PATHS',
  'SEARCHFLOW_HOSTS',
  'SEARCHFLOW_METRICS',
  'SEARCHFLOW_ASK_ABOVE',
  'SEARCHFLOW_MAX_COST_PER_JOB',
  'SEARCHFLOW_TEMPORAL_UI',
  'SEARCHFLOW_DEBUG',
] as const;

/** A sentence for each variable that begins with `SEARCHFLOW_` and means nothing, with the closest one that does. */
export function misspeltVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env)
    .filter((found) => found.startsWith('SEARCHFLOW_') && !(knownVariables as readonly string[]).includes(found))
    .map((found) => {
      const near = nearest(found, knownVariables);
      const hint = near === null ? `; there are ${knownVariables.join(', ')}.` : `; did you mean ${near}?`;
      const shown = found.replace(/[^\w]/g, '?').slice(0, 80);
      return `Warning: the variable ${shown} is not known and has no effect${hint}`;
    });
}
