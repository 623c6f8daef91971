import { dollars, toDollars } from '../text/money.js';
import { shellWord } from '../text/shell-word.js';
import type { AlertFact } from './alert.js';
import { named } from './job-alerts.js';

/** A cap and how much of it is used, in micro-dollars: cost, requests in flight and unknown outcomes. */
export interface UsedCap {
  readonly scope: 'run' | 'day' | 'month';
  /** What has the cap: the run of a job, or the team and its day or month. */
  readonly key: readonly (string | number)[];
  readonly capMicros: number;
  readonly usedMicros: number;
  /** Whether the rest does not allow another request. */
  readonly refuses?: boolean;
  readonly origin: string;
  /** The job of a run. */
  readonly job?: string;
  /** Beginning of a day or month, in Unix ms. */
  readonly since?: number;
}

const steps = [
  [100, 'cap.100'],
  [80, 'cap.80'],
] as const;

/** The alert of the highest part of a cap that is used; null below the lowest one. Another amount of the cap is another alert. */
export function capAlert(cap: UsedCap): AlertFact | null {
  const { scope, key, capMicros, usedMicros, refuses = false, origin, job, since } = cap;
  // A cap of nothing allows nothing, and its owner knows that.
  if (capMicros <= 0) return null;
  const step = refuses ? steps[0] : steps.find(([percent]) => usedMicros * 100 >= capMicros * percent);
  if (!step) return null;
  const [percent, type] = step;
  const next = job === undefined ? 'searchflow limits' : `searchflow status ${shellWord(job)}`;
  const whose =
    job === undefined
      ? `The team's cap of ${dollars(capMicros)} for this UTC ${scope}`
      : `The cap of ${dollars(capMicros)} of the run of ${named(job)}`;
  const how = percent === 100 ? 'is used up, and requests that do not fit are refused' : `is used by ${percent}%`;
  return {
    type,
    key: [scope, ...key, capMicros],
    text: `${whose} ${how}: ${dollars(usedMicros)} is spent or in flight. Next: ${next}`,
    data: {
      ...{ scope, percent, capDollars: toDollars(capMicros), usedDollars: toDollars(usedMicros), origin, next, job },
      since: since === undefined ? undefined : new Date(since).toISOString(),
    },
  };
}
