import { type Fields, type InputSchema, isOfType, NameCheck, pathOf, shown } from './check-names.js';

/** Why a value is too large, as the end of a sentence; null if it is not. Default: the limit of a request, which each activity of a job gets. */
export function whyTooLarge(value: unknown, mostKb = 256): string | null {
  const bytes = encodeURIComponent(JSON.stringify(value) ?? '').replace(/%../g, '.').length;
  const kb = Math.ceil(bytes / 1024);
  return kb <= mostKb ? null : `has ${kb} KB as JSON; ${mostKb} KB is the limit. Shorten its schema, texts or lists`;
}

/** Returns the problems of one value, one sentence for each field; `name` is the name of the value. Unknown fields are problems. Pure. */
export function schemaProblems(name: string, value: unknown, schema: InputSchema): readonly string[] {
  const check = new Check(name, true);
  check.value(value, schema, '');
  return check.problems;
}

/** The check of one value against its schema; `problems` are sentences. */
export class Check extends NameCheck {
  constructor(workflow: string, strict: boolean) {
    super(workflow, strict, true);
  }

  protected override fits(value: unknown, schema: InputSchema): boolean {
    return isOfType(value, schema) && isInRange(value, schema);
  }

  protected override object(value: Fields, schema: InputSchema, path: string, elsewhere: readonly string[]): void {
    super.object(value, schema, path, elsewhere);
    const { properties = {}, required = [] } = schema;
    for (const field of required)
      if (value[field] === undefined)
        this.report(field, () => `${pathOf(path, field)} is missing; it must be ${phraseOf(properties[field] ?? {})}.`);
  }

  protected override merged(branches: readonly InputSchema[], first: InputSchema): InputSchema {
    return withAllValues(branches, first);
  }

  protected override wrong(value: unknown, schema: InputSchema, path: string): void {
    this.report(
      path,
      () => `${path === '' ? 'The input' : path} must be ${phraseOf(schema)} (got ${shown(value, schema)}).`,
    );
  }
}

function isInRange(value: unknown, schema: InputSchema): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const { exclusiveMinimum = Number.NEGATIVE_INFINITY, minLength = 0, maxLength, format, pattern } = schema;
  if (typeof value === 'number') return value >= minimum && value <= maximum && value > exclusiveMinimum;
  if (Array.isArray(value)) return value.length >= (schema.minItems ?? 0);
  if (typeof value !== 'string') return true;
  if (schema.enum) return schema.enum.includes(value);
  if (value.length < minLength || (maxLength !== undefined && value.length > maxLength)) return false;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return false;
  return format !== 'date-time' || isDateTime(value);
}

/** Whether a text is an existing day in ISO 8601, or a time on an existing day with a time zone. */
function isDateTime(value: string): boolean {
  const [, day] = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(value) ?? [];
  if (day === undefined || Number.isNaN(Date.parse(value))) return false;
  // `Date` reads 2026-02-31 as a day of the next month.
  return new Date(day).toISOString().startsWith(day);
}

/** The values that a schema accepts: `a whole number from 1 to 100`. */
export function phraseOf(schema: InputSchema): string {
  const { type, enum: values, const: only, minimum, maximum, exclusiveMinimum } = schema;
  const { minLength = 0, maxLength, minItems = 0, items, format, must } = schema;
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return [...new Set(branches.map(phraseOf))].join(' or ');
  if (only !== undefined) return JSON.stringify(only);
  if (values) return `one of ${values.join(', ')}`;
  if (must !== undefined) return must;
  const range =
    minimum !== undefined && maximum !== undefined
      ? ` from ${minimum} to ${maximum}`
      : minimum !== undefined
        ? ` of at least ${minimum}`
        : exclusiveMinimum !== undefined
          ? ` above ${exclusiveMinimum}`
          : '';
  switch (type) {
    case 'integer':
      return `a whole number${range}`;
    case 'number':
      return `a number${range}`;
    case 'string':
      if (format === 'date-time') return 'a date such as 2025-01-31T00:00:00Z';
      if (maxLength === 1) return 'one character';
      if (maxLength !== undefined) return `a text of ${minLength} to ${maxLength} characters`;
      return minLength > 0 ? 'a text that is not empty' : 'a text';
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${minItems > 0 ? ' that is not empty' : ''}${items?.type === 'string' ? ' of texts' : ''}`;
    case 'object':
      return 'an object';
    default:
      return type ?? 'a value';
  }
}

/** Returns a branch that accepts the constants of all branches, so that the message names all constants. */
function withAllValues(branches: readonly InputSchema[], first: InputSchema): InputSchema {
  const properties = Object.entries(first.properties ?? {}).map(([field, schema]): [string, InputSchema] => {
    if (schema.const === undefined) return [field, schema];
    const all = branches.map((branch) => branch.properties?.[field]?.const).filter((one) => one !== undefined);
    return [field, { type: 'string', enum: all }];
  });
  // Only the constants are checked here: the other fields depend on the branch.
  const shared = properties.map(([field, schema]): [string, InputSchema] => [field, schema.enum ? schema : {}]);
  return { ...first, properties: Object.fromEntries(shared) };
}
