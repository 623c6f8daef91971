import { listQueryOf } from '../../routing/list-query.js';

/** Query of the lists under `/agent/runs` (section 8). */
export const agentListQuery = listQueryOf(100, 20, {});

/** Whether the caller requests an event stream (section 4.7). */
export function wantsStream(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') ?? false;
}
