import type { FieldProblem } from '../checks/fields.js';
import { percentEncode } from './fill-path.js';

function isScalar(value: unknown): value is string | number | boolean {
  return (
    typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
  );
}

/**
 * Encodes fields as a query that begins with `?`. If there are no fields, the query is empty. A list repeats its name, an object
 * is `name[key]=value` (deepObject, as /monitors takes its filter). Absent and null fields are left out. Deeper values are
 * refused.
 */
export function encodeQuery(
  fields: Readonly<Record<string, unknown>>,
): { readonly query: string } | { readonly problem: FieldProblem } {
  const pairs: string[] = [];
  const add = (name: string, value: unknown): FieldProblem | null => {
    if (value === undefined || value === null) return null;
    if (!isScalar(value)) return { field: name, message: `${name}: a value of this type has no form in a query` };
    const [left, right] = [percentEncode(name), percentEncode(String(value))];
    if (left === null || right === null)
      return { field: name, message: `${name}: the string has an unpaired surrogate` };
    pairs.push(`${left}=${right}`);
    return null;
  };
  for (const [name, value] of Object.entries(fields)) {
    const parts: readonly (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item) => [name, item] as const)
      : typeof value === 'object' && value !== null
        ? Object.entries(value).map(([key, item]) => [`${name}[${key}]`, item] as const)
        : [[name, value]];
    for (const [partName, part] of parts) {
      const wrong = add(partName, part);
      if (wrong) return { problem: wrong };
    }
  }
  return { query: pairs.length === 0 ? '' : `?${pairs.join('&')}` };
}
