import { fieldOf } from '../checks/field-of.js';
import { type AgentRunEvent, type AgentRunRequest, agentRunEvent, isTerminal } from '../schemas/agent-run-schemas.js';
import type { SseEvent } from '../stream/sse.js';
import type { StreamEnding, StreamEndpoint } from '../stream/stream-endpoint.js';
import { type AgentRunEventFilter, createAgentRunEndpoint, listAgentRunEventsEndpoint } from './agent-runs.js';

const last = /^agent_run\.(completed|failed|cancelled|canceled|stopped)$/;
const lifecycle = /^agent_run\.\w+$/;

/**
 * A known terminal event ends a stream at once. After an event with an unknown terminal status the stream ends when the connection closes.
 */
function ending({ event, data }: AgentRunEvent): StreamEnding | null {
  if (event === 'response' || last.test(event ?? '')) return 'now';
  const status = fieldOf(data, 'status');
  return lifecycle.test(event ?? '') && typeof status === 'string' && isTerminal(status) ? 'onClose' : null;
}

const form = {
  ask: {},
  chunk: agentRunEvent,
  toChunk: ({ id, event }: SseEvent, data: unknown): unknown => ({ id, event, data }),
  knows: () => true,
  ofUnknown: ({ id, event }: SseEvent, data: unknown): AgentRunEvent => ({ id, event, data }),
  ofWhole: (data: object): unknown => ({ id: null, event: 'response', data }),
  ending,
};

/**
 * `streamAgentRun`: starts a run and follows the events of the run to the terminal event, which has the whole run (API reference:
 * /agent/runs). Events with unknown names are passed on.
 */
export const agentRunStream: StreamEndpoint<AgentRunRequest, AgentRunEvent> = {
  name: 'streamAgentRun',
  endpoint: createAgentRunEndpoint,
  ...form,
  endsWithConnection: false,
};

/** `streamAgentRunEvents`: the stored events after `lastEventId`. Ends with the last stored event, not with the run. */
export const agentRunEventStream: StreamEndpoint<AgentRunEventFilter, AgentRunEvent> = {
  name: 'streamAgentRunEvents',
  endpoint: listAgentRunEventsEndpoint,
  ...form,
  ending: ({ event }) => (event === 'response' ? 'now' : null),
  endsWithConnection: true,
};
