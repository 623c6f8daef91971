/** Variables that mean something; another one that begins with `SEARCHFLOW_` is warned of. */
export const knownVariables = [
  'SEARCHFLOW_API_KEY',
  'SEARCHFLOW_BASE_URL',
  'SEARCHFLOW_QPS',
  'SEARCHFLOW_RATE_PROFILE',
  'SEARCHFLOW_PRICES',
  'SEARCHFLOW_CONCURRENCY',
  'SEARCHFLOW_STATE_DIR',
  'SEARCHFLOW_KEEP_LANDING_DAYS',
  'SEARCHFLOW_TASK_QUEUE',
  'SEARCHFLOW_STORE',
  'SEARCHFLOW_TEAM',
  'SEARCHFLOW_KEY_QPS',
  'SEARCHFLOW_WAREHOUSE_URL',
  'SEARCHFLOW_DEAD_AFTER_SECONDS',
  'SEARCHFLOW_METRICS',
  'SEARCHFLOW_DEBUG',
] as const;

/** A sentence for each variable that begins with `SEARCHFLOW_` and means nothing, with the closest one that does. */
export function misspeltVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env)
    .filter((found) => found.startsWith('SEARCHFLOW_') && !(knownVariables as readonly string[]).includes(found))
    .map((found) => {
      const near = knownVariables
        .map((known) => ({ known, far: distance(found, known) }))
        .sort((a, b) => a.far - b.far)[0];
      const hint =
        near && near.far <= 4 ? `; did you mean ${near.known}?` : `; there are ${knownVariables.join(', ')}.`;
      const shown = found.replace(/[^\w]/g, '?').slice(0, 80);
      return `Warning: the variable ${shown} is not known and has no effect${hint}`;
    });
}

/** Insertions and deletions from one text to the other; a replacement is both, so that `KEY` is nearer to `API_KEY` than to `QPS`. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 2);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
