import { isObject } from '../check-names.js';
import type { MonitorFilter } from '../workflow-input-schemas.js';
import type { BatchProgress } from '../workflow-result-schemas.js';

const fields: ReadonlySet<string> = new Set(['status', 'name', 'metadata'] satisfies (keyof MonitorFilter)[]);

/**
 * Returns the problem of a filter, with `path` before the field; null if there is none. Filters are unchecked JSON. If a field did not
 * reach the service, the filter would match more monitors than intended.
 */
export function filterProblem(filter: unknown, path = 'filter.'): string | null {
  if (!isObject(filter)) return 'filter must be an object';
  const unknown = Object.keys(filter).find((field) => !fields.has(field));
  if (unknown !== undefined) return `${path}${unknown}: unknown field; a filter has name, status and metadata`;
  for (const field of ['name', 'status'] as const) {
    const value = filter[field];
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      return `${path}${field} must be a non-empty string`;
  }
  const { metadata } = filter;
  if (metadata === undefined) return null;
  if (!isObject(metadata)) return `${path}metadata must be an object`;
  for (const [key, value] of Object.entries(metadata)) {
    if (!['string', 'number', 'boolean'].includes(typeof value))
      return `${path}metadata: the value of '${key}' must be a text, a number or a boolean`;
    // Assigning to a field of this name sets the prototype, so a copy of the object would lack the field.
    if (key === '__proto__') return `${path}metadata: '__proto__' cannot be used as a name`;
  }
  return null;
}

/** Whether a filter can exclude monitors. A filter without fields, or with an empty map of metadata, matches all monitors. */
export function takesSome({ name, status, metadata }: MonitorFilter): boolean {
  return name !== undefined || status !== undefined || Object.keys(metadata ?? {}).length > 0;
}

/** A filter as a text. */
export function filterText({ name, status, metadata }: MonitorFilter): string {
  const parts = [
    ...(name === undefined ? [] : [`name contains "${name}"`]),
    ...(status === undefined ? [] : [`status is ${status}`]),
    ...Object.entries(metadata ?? {}).map(([key, value]) => `${key}=${value}`),
  ];
  return parts.length > 0 ? parts.join(', ') : 'all';
}

/** The monitors of a batch as a text. */
export function chosenText({ filter, ofSchedule }: Pick<BatchProgress, 'filter' | 'ofSchedule'>): string {
  return ofSchedule === null ? filterText(filter) : `paused by the schedule ${ofSchedule}`;
}
