import type { Route } from './route.js';

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
