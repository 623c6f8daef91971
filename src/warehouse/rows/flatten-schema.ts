import type { Json } from '../../core/text/json.js';
import type { Path, ResultColumn, ValueType } from './result-column.js';

type Fields = { readonly [name: string]: Json };

/** Objects below this depth stay whole, as JSON. `MAX_COLUMNS`: properties after this number of columns get no column. */
const MAX_DEPTH = 5;
const MAX_COLUMNS = 200;

/**
 * Returns a column for each property of a JSON Schema of type object. Columns for texts, numbers, integers, booleans, dates and times have
 * these types. Properties of nested objects are named `outer_inner`. All other properties (lists, unions, references) are JSON.
 */
export function flattenSchema(
  schema: Fields,
  path: Path,
  of: 'response' | 'row' = 'response',
): readonly ResultColumn[] {
  return properties(schema, path, [], 0)
    .slice(0, MAX_COLUMNS)
    .map(({ names, type, at }) => ({ name: names.join('_'), csv: true, from: { path: at, type, of } }));
}

interface Found {
  readonly names: readonly string[];
  readonly type: ValueType;
  readonly at: Path;
}

function properties(schema: Fields, path: Path, names: readonly string[], depth: number): Found[] {
  if (!isFields(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([name, property]): Found[] => {
    const at = [...path, name];
    const all = [...names, name];
    const type = typeOf(property);
    if (type !== 'object') return [{ names: all, type, at }];
    const inner = depth < MAX_DEPTH ? properties(property as Fields, at, all, depth + 1) : [];
    return inner.length > 0 ? inner : [{ names: all, type: 'json', at }];
  });
}

function typeOf(property: Json): ValueType | 'object' {
  if (!isFields(property)) return 'json';
  const types = (Array.isArray(property.type) ? (property.type as readonly Json[]) : [property.type]).filter(
    (type) => type !== 'null',
  );
  const [type] = types;
  if (types.length !== 1) return 'json';
  if (type === 'string') return property.format === 'date' ? 'date' : property.format === 'date-time' ? 'time' : 'text';
  return type === 'number' || type === 'integer' || type === 'boolean' || type === 'object' ? type : 'json';
}

function isFields(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
