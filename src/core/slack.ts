/** Added to a window for each answer that had waited in the service's own queue. */
const STEP = 0.01;
/** With the least margin of 1% this leaves four fifths of the limit. */
const MOST = 0.24;
/** From the most to nothing, where no further answer was queued. */
const RECOVERY_MS = 30_000;

interface Slack {
  slack: number;
  slackAt: number;
}

/** What is left of the slack now. */
export function recovered({ slack, slackAt }: Readonly<Slack>, now: number): number {
  return Math.max(0, slack - (Math.max(0, now - slackAt) * MOST) / RECOVERY_MS);
}

/**
 * The service queued some of our calls (public facts 1.2), a sign that we are close to its limit though within ours: a little
 * slower, bounded, until it queues no more.
 */
export function ease(state: Slack, now: number, queued: number): void {
  state.slack = Math.min(MOST, recovered(state, now) + STEP * queued);
  state.slackAt = now;
}
