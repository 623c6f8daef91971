/** Returns the state of a workflow for Temporal's web UI (Markdown): its title and phase, then facts, then its message. */
export function detailsText(
  title: string,
  status: { readonly phase: string; readonly pausedFor?: string | null; readonly message: string | null },
  facts: readonly string[] = [],
): string {
  const { phase, pausedFor, message } = status;
  const first = `${title}: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`;
  return [first, ...facts, ...(message ? [message] : [])].join('\n\n');
}
