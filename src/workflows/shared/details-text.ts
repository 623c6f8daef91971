import { type Said, sentenceOf } from '../../core/rows/pause.js';

/** Returns the state of a workflow for Temporal's web UI (Markdown): its title and phase, then facts, then its message. */
export function detailsText(
  title: string,
  status: Said & { readonly phase: string; readonly pausedFor?: string | null },
  facts: readonly string[] = [],
): string {
  const { phase, pausedFor } = status;
  const message = sentenceOf(status);
  const first = `${title}: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`;
  return [first, ...facts, ...(message ? [message] : [])].join('\n\n');
}
