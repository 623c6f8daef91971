import { agentRuns } from './agent-runs.js';
import { contents } from './contents.js';
import type { Route } from './route.js';
import { search } from './search.js';

/** The operations known, by method and path. */
export const routes: ReadonlyMap<string, Route> = new Map([
  ['POST /agent/runs', agentRuns],
  ['POST /contents', contents],
  ['POST /search', search],
]);
