import type { Json } from '../text/json.js';

/** Which monitors are meant: all that is given must match (interface section 4.6). */
export type MonitorFilter = {
  readonly status?: string;
  /** Part of the name, in any case. */
  readonly name?: string;
  readonly metadata?: Record<string, string>;
};

const fields: ReadonlySet<string> = new Set(['status', 'name', 'metadata'] satisfies (keyof MonitorFilter)[]);

/**
 * A sentence that says what is wrong with a filter, with `place` before the field; null where nothing is. It comes as plain JSON: a
 * field or a pair that is left out on the way to the service means more monitors than were meant.
 */
export function filterProblem(filter: unknown, place = 'filter.'): string | null {
  if (!isObject(filter)) return 'filter: an object is needed';
  const strange = Object.keys(filter).find((field) => !fields.has(field));
  if (strange !== undefined) return `${place}${strange}: a filter has name, status and metadata, and nothing else`;
  for (const field of ['name', 'status'] as const) {
    const value = filter[field];
    if (value !== undefined && (typeof value !== 'string' || value === '')) return `${place}${field}: a text is needed`;
  }
  const { metadata } = filter;
  if (metadata === undefined) return null;
  if (!isObject(metadata)) return `${place}metadata: an object of texts is needed`;
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value !== 'string') return `${place}metadata: the value of '${key}' must be a text`;
    // Whoever copies an object by its keys loses this one.
    if (key === '__proto__') return `${place}metadata: '__proto__' is no name that can be asked for`;
  }
  return null;
}

/** Whether a filter takes some and leaves others; a map without pairs takes all. */
export function takesSome({ name, status, metadata }: MonitorFilter): boolean {
  return name !== undefined || status !== undefined || Object.keys(metadata ?? {}).length > 0;
}

/** A filter in words. */
export function filterText({ name, status, metadata }: MonitorFilter): string {
  const parts = [
    ...(name === undefined ? [] : [`name contains "${name}"`]),
    ...(status === undefined ? [] : [`status is ${status}`]),
    ...Object.entries(metadata ?? {}).map(([key, value]) => `${key}=${value}`),
  ];
  return parts.length > 0 ? parts.join(', ') : 'all';
}

/** A filter as JSON, for tables. */
export function filterJson(filter: MonitorFilter): Json {
  const { name, status, metadata } = filter;
  return {
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
