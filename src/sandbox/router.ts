import { agentRoutes } from './agents/agent-runs.js';
import { researchRoutes } from './agents/research.js';
import { usageRoutes } from './ledger/routes.js';
import { monitorRoutes } from './monitors/routes.js';
import { pageRoutes } from './pages/routes.js';
import type { Call, Route, Routes } from './route.js';
import { websetRoutes } from './websets/routes.js';

/** The supported operations. */
const routes: Routes = {
  ...pageRoutes,
  ...researchRoutes,
  ...monitorRoutes,
  ...agentRoutes,
  ...usageRoutes,
  ...websetRoutes,
};

const patterns = Object.entries(routes).map(([pattern, route]) => {
  return { pattern: new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`), route };
});

export function findRoute(
  method: string,
  path: string,
): { readonly route: Route; readonly params: Call['params'] } | null {
  for (const { pattern, route } of patterns) {
    const found = pattern.exec(`${method} ${path}`);
    const params = found && decoded(found.groups);
    if (params) return { route, params };
  }
  return null;
}

/** Null for a path that cannot be decoded. */
function decoded(groups: Readonly<Record<string, string>> = {}): Call['params'] | null {
  try {
    const params = Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]);
    return Object.fromEntries(params);
  } catch {
    return null;
  }
}
