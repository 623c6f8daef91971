import { listQueryOf } from '../list-query.js';

/** Query of the lists under `/agent/runs`. */
export const agentListQuery = listQueryOf(100, 20, {});

/** Whether the caller requests an event stream. */
export function wantsStream(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') ?? false;
}
