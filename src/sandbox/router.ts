import type { Route } from './route.js';
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
import { getMonitorRun, listMonitorRuns, triggerMonitor } from './routes/monitor-runs.js';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  listMonitors,
  updateMonitor,
} from './routes/monitors.js';
import { createResearchTask, getResearchTask, listResearchTasks } from './routes/research.js';
import { search } from './routes/search.js';
import { getEvent, listEvents } from './routes/webset-events.js';
import { getWebset, getWebsetItem, listWebsetItems, listWebsets } from './routes/websets.js';

/** A route in the table, with the properties that are needed before the route runs. */
export interface RouteEntry {
  readonly route: Route;
  /** Rate cost of the route's requests: 2 for the start of an agent run, 0 for a poll of a run. */
  readonly weight: number;
  /** Whether the route's answers have the queue headers. */
  readonly queued: boolean;
}

export interface FoundRoute extends RouteEntry {
  readonly params: Readonly<Record<string, string>>;
}

interface Line extends RouteEntry {
  readonly segments: readonly string[];
}

/**
 * Finds the route of a request by patterns such as `GET /agent/runs/:id`. A literal segment has priority over a variable one.
 */
export class Router {
  readonly #lines = new Map<string, Line[]>();

  add(pattern: string, route: Route, { weight = 1, queued = false }: Partial<Omit<RouteEntry, 'route'>> = {}): this {
    const [method, path] = pattern.split(' ') as [string, string];
    const segments = path.split('/').slice(1);
    const key = `${method} ${segments.length}`;
    const lines = [...(this.#lines.get(key) ?? []), { segments, route, weight, queued }];
    lines.sort((left, right) => openOf(left) - openOf(right));
    this.#lines.set(key, lines);
    return this;
  }

  find(method: string, path: string): FoundRoute | null {
    const segments = path.split('/').slice(1);
    for (const line of this.#lines.get(`${method} ${segments.length}`) ?? []) {
      const params = match(line.segments, segments);
      if (params) return { route: line.route, weight: line.weight, queued: line.queued, params };
    }
    return null;
  }
}

function openOf({ segments }: Line): number {
  return segments.filter((one) => one.startsWith(':')).length;
}

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
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
  return params;
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

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
