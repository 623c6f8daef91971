import type { SentWith } from '../row-job-schemas.js';
import { withoutUndefined } from '../text/without-undefined.js';

export const sentWith = ({ beta, extraHeaders, unchecked }: SentWith): SentWith =>
  withoutUndefined({ beta, extraHeaders, unchecked });

/** The part that changes answers, and so belongs to the keys of units. */
export function sendOptions(sent: SentWith): Omit<SentWith, 'unchecked'> {
  const { unchecked: _, ...options } = sentWith(sent);
  return options;
}
