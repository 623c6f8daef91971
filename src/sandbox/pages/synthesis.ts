import { z } from 'zod';
import { badBody } from '../base/refusal.js';
import { hashText, prose } from '../base/sentences.js';
import { isSchema, schemaProblem, schemaValue } from './schema-value.js';

/** `outputSchema` of a search or a monitor: text, or an object. */
export const outputSchema = z.looseObject({
  type: z.enum(['text', 'object']),
  description: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

/** Refuses output schemas that a search does not support: more than ten properties in all, or more than two levels. */
export function checkOutputSchema(schema: z.infer<typeof outputSchema> | null | undefined): void {
  if (!schema || schema.type === 'text') return;
  checkSchema(schema, 'outputSchema');
  const { count, depth } = measure(schema);
  if (count > 10) throw badSchema(`outputSchema: ${count} properties; at most 10 in all`);
  if (depth > 2) throw badSchema(`outputSchema: ${depth} levels; at most 2`);
}

/** Refuses a JSON schema with a mistake. `name`: its name in the request. */
export function checkSchema(schema: unknown, name: string): void {
  const problem = schema ? schemaProblem(schema) : null;
  if (problem !== null) throw badSchema(`${name}: ${problem}`);
}

const badSchema = (why: string) => badBody(why, 'INVALID_JSON_SCHEMA');

function measure(schema: unknown): { count: number; depth: number } {
  if (!isSchema(schema)) return { count: 0, depth: 0 };
  if (isSchema(schema.items)) return measure(schema.items);
  const below = Object.values(isSchema(schema.properties) ? schema.properties : {}).map(measure);
  if (below.length === 0) return { count: 0, depth: 0 };
  return {
    count: below.reduce((sum, { count }) => sum + count, below.length),
    depth: 1 + Math.max(...below.map(({ depth }) => depth)),
  };
}

/** Stands for a model's text about a query: text with some letters beyond ASCII, or a value that matches the schema. */
export function writeAbout(query: string, schema: Readonly<Record<string, unknown>> | null, seed: number): unknown {
  const hash = hashText(query, seed);
  if (schema === null || schema.type === 'text') return `About “${query}”: ${prose(hash, 3)}`;
  const isOpen = schema.type === 'object' && !isSchema(schema.properties);
  return schemaValue(isOpen ? { ...schema, properties: { summary: { type: 'string' } } } : schema, hash);
}

/** Sources of each field of the output. */
export function groundingOf(content: unknown, pages: readonly { readonly url: string; readonly title?: unknown }[]) {
  const fields = isSchema(content) ? Object.keys(content) : ['content'];
  return fields.map((field, index) => ({
    field,
    citations: pages.slice(index % 3, (index % 3) + 2).map(({ url, title }) => ({ url, title })),
    confidence: ['high', 'medium', 'low'][index % 3],
  }));
}

/** The text of the output, split into the pieces of a stream. Letters are not split. */
export function piecesOf(content: unknown): string[] {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.match(/\S+\s*/gu) ?? [text];
}
