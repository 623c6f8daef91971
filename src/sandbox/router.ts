import type { Params, Route } from './route.js';
import {
  cancelAgentRun,
  createAgentRun,
  deleteAgentRun,
  getAgentRun,
  keyUsage,
  listAgentRunEvents,
  listAgentRuns,
  stopAgentRun,
} from './routes/agent-runs.js';
import { answer } from './routes/answer.js';
import { contents } from './routes/contents.js';
import { findSimilar } from './routes/find-similar.js';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  getMonitorRun,
  listMonitorRuns,
  listMonitors,
  triggerMonitor,
  updateMonitor,
} from './routes/monitors.js';
import { createResearchTask, getResearchTask, listResearchTasks } from './routes/research.js';
import { search } from './routes/search.js';
import { getEvent, listEvents } from './routes/webset-events.js';
import { getWebset, getWebsetItem, listWebsetItems, listWebsets } from './routes/websets.js';

/** A route in the table, with the properties that are needed before the route runs. */
interface RouteEntry {
  readonly route: Route;
  /** Rate cost of the route's requests: 2 for the start of an agent run, 0 for a poll of a run; default 1. */
  readonly weight?: number;
  /** Whether the route's answers have the queue headers. */
  readonly queued?: boolean;
}

export interface FoundRoute extends RouteEntry {
  readonly params: Params;
}

/** The supported operations, by method and path. */
const routes: Readonly<Record<string, RouteEntry>> = {
  'POST /search': { route: search, queued: true },
  'POST /contents': { route: contents, queued: true },
  'POST /answer': { route: answer, queued: true },
  'POST /findSimilar': { route: findSimilar, queued: true },
  'POST /research/tasks': { route: createResearchTask },
  'GET /research/tasks': { route: listResearchTasks },
  'GET /research/tasks/:id': { route: getResearchTask },
  'POST /monitors': { route: createMonitor },
  'GET /monitors': { route: listMonitors },
  'POST /monitors/batch': { route: batchMonitors },
  'GET /monitors/:id': { route: getMonitor },
  'PATCH /monitors/:id': { route: updateMonitor },
  'DELETE /monitors/:id': { route: deleteMonitor },
  'POST /monitors/:id/trigger': { route: triggerMonitor },
  'GET /monitors/:id/runs': { route: listMonitorRuns },
  'GET /monitors/:id/runs/:runId': { route: getMonitorRun },
  'POST /agent/runs': { route: createAgentRun, weight: 2 },
  'GET /agent/runs': { route: listAgentRuns, weight: 0 },
  'GET /agent/runs/:id': { route: getAgentRun, weight: 0 },
  'DELETE /agent/runs/:id': { route: deleteAgentRun },
  'POST /agent/runs/:id/cancel': { route: cancelAgentRun },
  'POST /agent/runs/:id/stop': { route: stopAgentRun },
  'GET /agent/runs/:id/events': { route: listAgentRunEvents, weight: 0 },
  'GET /websets/v0/events': { route: listEvents },
  'GET /websets/v0/events/:id': { route: getEvent },
  'GET /websets/v0/websets': { route: listWebsets },
  'GET /websets/v0/websets/:id': { route: getWebset },
  'GET /websets/v0/websets/:id/items': { route: listWebsetItems },
  'GET /websets/v0/websets/:id/items/:itemId': { route: getWebsetItem },
  'GET /team-management/api-keys/:id/usage': { route: keyUsage, weight: 0 },
};

const lines = Object.entries(routes).map(([pattern, entry]) => {
  const [method, path] = pattern.split(' ') as [string, string];
  return { method, segments: path.split('/'), entry };
});

export function findRoute(method: string, path: string): FoundRoute | null {
  const segments = path.split('/');
  for (const line of lines) {
    if (line.method !== method || line.segments.length !== segments.length) continue;
    const params = match(line.segments, segments);
    if (params) return { ...line.entry, params };
  }
  return null;
}

function match(pattern: readonly string[], segments: readonly string[]): Params | null {
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const actual = segments[index] as string;
    if (!wanted.startsWith(':')) {
      if (wanted !== actual) return null;
      continue;
    }
    const value = decode(actual);
    if (value === null || value === '') return null;
    params[wanted.slice(1)] = value;
  }
  return params as Params;
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
