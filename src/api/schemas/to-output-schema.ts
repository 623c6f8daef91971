import { type ZodType, z } from 'zod';
import type { Json } from '../../core/text/json.js';

/**
 * The JSON Schema of a zod schema, for `outputSchema` of agent runs, searches and answers. Throws where the schema holds what
 * JSON Schema has no word for, such as dates: take texts with a format instead.
 */
export function toOutputSchema(schema: ZodType): { readonly [name: string]: Json } {
  // What the schema takes, because that is what the service is to write.
  return z.toJSONSchema(schema, { io: 'input' }) as { readonly [name: string]: Json };
}
