import { nearest } from '../../core/text/nearest.js';

/** All variables of searchflow. Any other variable that begins with `SEARCHFLOW_` gives a warning. */
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
  'SEARCHFLOW_SOURCE_URL',
  'SEARCHFLOW_DEAD_AFTER_SECONDS',
  'SEARCHFLOW_PATHS',
  'SEARCHFLOW_HOSTS',
  'SEARCHFLOW_DUCKDB_EXTENSIONS',
  'SEARCHFLOW_METRICS',
  'SEARCHFLOW_LOG',
  'SEARCHFLOW_ASK_ABOVE',
  'SEARCHFLOW_MAX_COST_PER_JOB',
  'SEARCHFLOW_TEMPORAL_UI',
  'SEARCHFLOW_DATA_CONVERTER',
  'SEARCHFLOW_ENCRYPT',
  'SEARCHFLOW_DEBUG',
] as const;

/** A warning for each unknown variable that begins with `SEARCHFLOW_`, with the closest known variable. */
export function misspeltVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env)
    .filter((found) => found.startsWith('SEARCHFLOW_') && !(knownVariables as readonly string[]).includes(found))
    .map((found) => {
      const near = nearest(found, knownVariables);
      const hint = near === null ? `. Known variables: ${knownVariables.join(', ')}.` : `; did you mean ${near}?`;
      const shown = found.replace(/[^\w]/g, '?').slice(0, 80);
      return `Warning: the variable ${shown} is unknown and has no effect${hint}`;
    });
}
