import { Router } from '../router.js';
import { listAgentRunEvents } from './agent-run-stream.js';
import {
  cancelAgentRun,
  createAgentRun,
  deleteAgentRun,
  getAgentRun,
  listAgentRuns,
  stopAgentRun,
} from './agent-runs.js';
import { answer } from './answer.js';
import { contents } from './contents.js';
import { findSimilar } from './find-similar.js';
import { keyUsage } from './key-usage.js';
import { batchMonitors } from './monitor-batch.js';
import { getMonitorRun, listMonitorRuns, triggerMonitor } from './monitor-runs.js';
import { createMonitor, deleteMonitor, getMonitor, listMonitors, updateMonitor } from './monitors.js';
import { createResearchTask, getResearchTask, listResearchTasks } from './research.js';
import { search } from './search.js';
import { getEvent, listEvents } from './webset-events.js';
import { getWebset, getWebsetItem, listWebsetItems, listWebsets } from './websets.js';

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
