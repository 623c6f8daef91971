/** Returns a field of a value of any type; `undefined` where there is none. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

/**
 * A value of any type as text: JSON for an object or a list, empty for null and undefined. `String` throws for an object with a field that is
 * named `toString`.
 */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
