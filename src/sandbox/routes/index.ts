import { Router } from '../routing/router.js';
import { batchMonitors } from './monitors/monitor-batch.js';
import { getMonitorRun, listMonitorRuns, triggerMonitor } from './monitors/monitor-runs.js';
import { createMonitor, deleteMonitor, getMonitor, listMonitors, updateMonitor } from './monitors/monitors.js';
import { listAgentRunEvents } from './runs/agent-run-stream.js';
import {
  cancelAgentRun,
  createAgentRun,
  deleteAgentRun,
  getAgentRun,
  listAgentRuns,
  stopAgentRun,
} from './runs/agent-runs.js';
import { createResearchTask, getResearchTask, listResearchTasks } from './runs/research.js';
import { answer } from './search/answer.js';
import { contents } from './search/contents.js';
import { findSimilar } from './search/find-similar.js';
import { search } from './search/search.js';
import { keyUsage } from './team/key-usage.js';
import { getEvent, listEvents } from './websets/webset-events.js';
import { getWebset, getWebsetItem, listWebsetItems, listWebsets } from './websets/websets.js';

const queued = { queued: true };
const polling = { weight: 0 };

/** The supported operations, by method and path. */
export const routes = new Router()
  .add('POST /search', search, queued)
  .add('POST /contents', contents, queued)
  .add('POST /answer', answer, queued)
  .add('POST /findSimilar', findSimilar, queued)
  .add('POST /research/tasks', createResearchTask)
  .add('GET /research/tasks', listResearchTasks)
  .add('GET /research/tasks/:id', getResearchTask)
  .add('POST /monitors', createMonitor)
  .add('GET /monitors', listMonitors)
  .add('POST /monitors/batch', batchMonitors)
  .add('GET /monitors/:id', getMonitor)
  .add('PATCH /monitors/:id', updateMonitor)
  .add('DELETE /monitors/:id', deleteMonitor)
  .add('POST /monitors/:id/trigger', triggerMonitor)
  .add('GET /monitors/:id/runs', listMonitorRuns)
  .add('GET /monitors/:id/runs/:runId', getMonitorRun)
  .add('POST /agent/runs', createAgentRun, { weight: 2 })
  .add('GET /agent/runs', listAgentRuns, polling)
  .add('GET /agent/runs/:id', getAgentRun, polling)
  .add('DELETE /agent/runs/:id', deleteAgentRun)
  .add('POST /agent/runs/:id/cancel', cancelAgentRun)
  .add('POST /agent/runs/:id/stop', stopAgentRun)
  .add('GET /agent/runs/:id/events', listAgentRunEvents, polling)
  .add('GET /websets/v0/events', listEvents)
  .add('GET /websets/v0/events/:id', getEvent)
  .add('GET /websets/v0/websets', listWebsets)
  .add('GET /websets/v0/websets/:id', getWebset)
  .add('GET /websets/v0/websets/:id/items', listWebsetItems)
  .add('GET /websets/v0/websets/:id/items/:itemId', getWebsetItem)
  .add('GET /team-management/api-keys/:id/usage', keyUsage, polling);
