import { type ZodType, z } from 'zod';
import type { Json } from '../../core/text/json.js';

/**
 * Returns the JSON Schema of a zod schema, for `outputSchema` of agent runs, searches and answers. Throws for types that JSON Schema
 * lacks, such as dates: use texts with a format instead.
 */
export function toOutputSchema(schema: ZodType): { readonly [name: string]: Json } {
  // The input form of the schema is used, because the service writes the values that the schema parses.
  return z.toJSONSchema(schema, { io: 'input' }) as { readonly [name: string]: Json };
}
