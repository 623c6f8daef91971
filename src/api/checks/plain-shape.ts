import type { ZodType, z } from 'zod';

type Check = (value: unknown) => boolean;

const checks = new WeakMap<ZodType, Check>();

/**
 * Whether a value certainly has a shape. Zod makes a copy of each value that it checks, which takes an eighth of the memory of an answer;
 * this check makes none. `false` says nothing: the schema has a part that this check does not know, or zod has to say what is wrong.
 */
export function isPlainShape(schema: ZodType, value: unknown): boolean {
  let check = checks.get(schema);
  if (check === undefined) {
    check = checkOf(schema);
    checks.set(schema, check);
  }
  return check(value);
}

const never: Check = () => false;

function checkOf(schema: ZodType): Check {
  const { def } = schema as unknown as { readonly def: z.core.$ZodTypes['_zod']['def'] };
  if (def.checks?.length) return never;
  switch (def.type) {
    case 'unknown':
    case 'any':
      // Zod decides whether such a field may be missing.
      return (value) => value !== undefined;
    case 'string':
      return 'format' in def ? never : (value) => typeof value === 'string';
    case 'number':
      return 'format' in def ? never : Number.isFinite;
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'nullable': {
      const inner = checkOf(def.innerType as ZodType);
      return (value) => value === null || inner(value);
    }
    case 'optional': {
      const inner = checkOf(def.innerType as ZodType);
      return (value) => value === undefined || inner(value);
    }
    case 'array': {
      const element = checkOf(def.element as ZodType);
      return (value) => Array.isArray(value) && value.every(element);
    }
    case 'object':
      return ofObject(def);
    default:
      return never;
  }
}

function ofObject({ shape, catchall }: z.core.$ZodObjectDef): Check {
  if (catchall !== undefined && catchall._zod.def.type !== 'unknown') return never;
  const fields = Object.entries(shape).map(([name, field]) => ({ name, check: checkOf(field as ZodType) }));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return fields.every(({ name, check }) => check((value as Readonly<Record<string, unknown>>)[name]));
  };
}
