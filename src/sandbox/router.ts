import type { Params, RouteEntry, Routes } from './route.js';
import { agentRoutes } from './routes/agent-runs.js';
import { answer } from './routes/answer.js';
import { contents } from './routes/contents.js';
import { monitorRoutes } from './routes/monitors.js';
import { researchRoutes } from './routes/research.js';
import { findSimilar, search } from './routes/search.js';
import { eventRoutes } from './routes/webset-events.js';
import { websetRoutes } from './routes/websets.js';

export interface FoundRoute extends RouteEntry {
  readonly params: Params;
}

/** The supported operations. */
const routes: Routes = {
  'POST /search': { route: search, queued: true },
  'POST /contents': { route: contents, queued: true },
  'POST /answer': { route: answer, queued: true },
  'POST /findSimilar': { route: findSimilar, queued: true },
  ...researchRoutes,
  ...monitorRoutes,
  ...agentRoutes,
  ...eventRoutes,
  ...websetRoutes,
};

const patterns = Object.entries(routes).map(([pattern, entry]) => {
  return { pattern: new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`), entry };
});

export function findRoute(method: string, path: string): FoundRoute | null {
  for (const { pattern, entry } of patterns) {
    const found = pattern.exec(`${method} ${path}`);
    const params = found && decoded(found.groups);
    if (params) return { ...entry, params };
  }
  return null;
}

/** Null for a path that cannot be decoded. */
function decoded(params: Readonly<Record<string, string>> = {}): Params | null {
  try {
    return Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]),
    ) as Params;
  } catch {
    return null;
  }
}
