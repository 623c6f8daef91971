import type { WalkProgress } from '../../core/events/walk-job.js';

/** Returns the state of a walk for Temporal's web UI (Markdown). */
export function walkDetails(progress: WalkProgress): string {
  const { phase, pausedFor, message, stream, windows, windowsDone, share, events, added, changed } = progress;
  return [
    `**${stream}**: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`,
    `${windowsDone} of ${windows} windows${share === null ? '' : ` (${Math.round(share * 100)}% of the time)`}, ` +
      `${events} events read, ${added} new, ${changed} with newer contents`,
    ...(message ? [message] : []),
  ].join('\n\n');
}
