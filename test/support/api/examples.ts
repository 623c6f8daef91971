import type { OperationName } from '../../../src/api/operations.js';

/** An ordinary input of one operation, its answer, and the request that the operation must send. */
export interface Example {
  readonly input: { readonly [field: string]: unknown };
  readonly wire: string;
  readonly body?: unknown;
  readonly answer: { readonly [field: string]: unknown };
  readonly status?: number;
}

const results = [{ id: 'https://a.example', url: 'https://a.example', title: 'A' }];
const page = (...data: unknown[]) => ({ data, hasMore: false, nextCursor: null });
const run = { id: 'agent_run_1', object: 'agent_run', status: 'running', stopReason: null };
const monitor = { id: 'mon_1', name: 'News', status: 'active', search: { query: 'q' }, trigger: null, metadata: null };
const event = { id: 'ev_1', object: 'event', type: 'webset.created', data: { id: 'ws_1' }, createdAt: '2026-01-01' };
const webset = { id: 'ws_1', object: 'webset', status: 'idle', externalId: null, searches: [] };
const task = { id: '11111111-2222-3333-4444-555555555555', status: 'running' };

export const examples: Readonly<Record<OperationName, Example>> = {
  search: { input: { query: 'q', numResults: 2 }, wire: 'POST /search', answer: { requestId: 'r', results } },
  getContents: { input: { urls: ['https://a.example'], text: true }, wire: 'POST /contents', answer: { results } },
  answer: { input: { query: 'q' }, wire: 'POST /answer', answer: { answer: 'yes', citations: [] } },
  findSimilar: { input: { url: 'https://a.example' }, wire: 'POST /findSimilar', answer: { results } },
  createResearchTask: {
    input: { input: { instructions: 'i' }, output: { schema: { type: 'object' } } },
    wire: 'POST /research/tasks',
    answer: { id: task.id },
  },
  getResearchTask: { input: { id: task.id }, wire: `GET /research/tasks/${task.id}`, answer: task },
  listResearchTasks: { input: { limit: 5 }, wire: 'GET /research/tasks?limit=5', answer: page(task) },
  createMonitor: {
    input: { name: 'News', search: { query: 'q' }, trigger: null, webhook: { url: 'https://h.example' } },
    wire: 'POST /monitors',
    answer: monitor,
    status: 201,
  },
  listMonitors: {
    input: { status: 'active', cursor: 'c/1', name: 'a b', metadata: { team: 'x&y', 'a[0]': 'ü' } },
    wire: 'GET /monitors?status=active&cursor=c%2F1&name=a%20b&metadata%5Bteam%5D=x%26y&metadata%5Ba%5B0%5D%5D=%C3%BC',
    answer: page(monitor),
  },
  getMonitor: { input: { id: 'mon/1 ?' }, wire: 'GET /monitors/mon%2F1%20%3F', answer: monitor },
  updateMonitor: {
    input: { id: 'mon_1', search: { numResults: 5 }, trigger: null },
    wire: 'PATCH /monitors/mon_1',
    body: { search: { numResults: 5 }, trigger: null },
    answer: monitor,
  },
  deleteMonitor: { input: { id: 'mon_1' }, wire: 'DELETE /monitors/mon_1', answer: monitor },
  batchMonitors: {
    input: { action: 'pause', filter: { status: 'active' }, dry_run: false, limit: 2 },
    wire: 'POST /monitors/batch',
    answer: { action: 'pause', affected: 1, ids: ['mon_1'], dry_run: false, has_more: false },
  },
  triggerMonitor: { input: { id: 'mon_1' }, wire: 'POST /monitors/mon_1/trigger', answer: { triggered: true } },
  listMonitorRuns: {
    input: { id: 'mon_1', limit: 100 },
    wire: 'GET /monitors/mon_1/runs?limit=100',
    answer: page({ id: 'run_1', status: 'completed', output: { results } }),
  },
  getMonitorRun: {
    input: { id: 'mon_1', runId: 'run_1' },
    wire: 'GET /monitors/mon_1/runs/run_1',
    answer: { id: 'run_1', status: 'failed', failReason: 'rate_limited', output: null },
  },
  createAgentRun: {
    input: { query: 'q', input: { data: [{ name: 'x' }] }, dataSources: [{ provider: 'fiber' }] },
    wire: 'POST /agent/runs',
    answer: run,
  },
  getAgentRun: { input: { id: 'agent_run_1' }, wire: 'GET /agent/runs/agent_run_1', answer: run },
  listAgentRuns: { input: {}, wire: 'GET /agent/runs', answer: { object: 'list', ...page(run) } },
  deleteAgentRun: { input: { id: 'agent_run_1' }, wire: 'DELETE /agent/runs/agent_run_1', answer: { deleted: true } },
  cancelAgentRun: { input: { id: 'agent_run_1' }, wire: 'POST /agent/runs/agent_run_1/cancel', answer: run },
  stopAgentRun: { input: { id: 'agent_run_1' }, wire: 'POST /agent/runs/agent_run_1/stop', answer: run },
  listAgentRunEvents: {
    input: { id: 'agent_run_1', cursor: '3' },
    wire: 'GET /agent/runs/agent_run_1/events?cursor=3',
    answer: page({ id: 4, event: 'agent_run.started', data: {}, createdAt: '2026-01-01' }),
  },
  listEvents: {
    input: { types: ['webset.created', 'webset.idle'], createdAfter: '2026-01-01T00:00:00Z', limit: 200 },
    wire: 'GET /websets/v0/events?types=webset.created&types=webset.idle&createdAfter=2026-01-01T00%3A00%3A00Z&limit=200',
    answer: page(event),
  },
  getEvent: { input: { id: 'ev_1' }, wire: 'GET /websets/v0/events/ev_1', answer: event },
  listWebsets: { input: { cursor: null }, wire: 'GET /websets/v0/websets', answer: page(webset) },
  getWebset: {
    input: { id: 'my own id', expand: ['items'] },
    wire: 'GET /websets/v0/websets/my%20own%20id?expand=items',
    answer: webset,
  },
  listWebsetItems: {
    input: { id: 'ws_1', sourceId: 's' },
    wire: 'GET /websets/v0/websets/ws_1/items?sourceId=s',
    answer: page({ id: 'item_1', websetId: 'ws_1', properties: { type: 'company' } }),
  },
};
