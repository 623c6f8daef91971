import { z } from 'zod';
import { problem } from '../checks/checks.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';
import { checkSchemaForm } from '../checks/schema-form.js';

/** A JSON Schema of the caller. */
export const outputSchema = z.looseObject({});

const citation = z.looseObject({ url: z.string().nullish(), title: z.string().nullish() });

/** The sources of a field of a synthesised output (API reference: /search, /agent/runs). */
export const grounding = z.looseObject({
  field: z.string().nullish(),
  citations: z.array(citation).nullish(),
  confidence: z.string().nullish(),
  score: z.number().nullish(),
});

/** A synthesised output: text, or an object of the `outputSchema` (API reference: /search). */
export const synthesised = z.looseObject({
  content: z.union([z.string(), z.looseObject({})]).nullish(),
  grounding: z.array(grounding).nullish(),
});

/** The number of all properties, and the levels of objects with properties. */
function measure(schema: unknown): { properties: number; depth: number } {
  if (typeof schema !== 'object' || schema === null) return { properties: 0, depth: 0 };
  const all = { properties: 0, depth: 0 };
  for (const [name, value] of Object.entries(schema)) {
    const named = name === 'properties' && typeof value === 'object' && value !== null && !Array.isArray(value);
    const parts = named ? Object.values(value) : name === 'items' ? [value] : [];
    if (named) all.properties += parts.length;
    const inner = parts.map(measure);
    all.properties += inner.reduce((sum, { properties }) => sum + properties, 0);
    all.depth = Math.max(all.depth, (named ? 1 : 0) + Math.max(0, ...inner.map(({ depth }) => depth)));
  }
  return all;
}

/** Checks the schema of a search's output, which may also be of type `text` (API reference: /search). */
export function checkOutputSchema(schema: object | null | undefined, limits: ServiceLimits): LimitProblem | null {
  const form = checkSchemaForm('outputSchema', schema, limits, ['text']);
  const max = limits.maxOutputSchema;
  if (form || !schema || max === null) return form;
  const { properties, depth } = measure(schema);
  if (properties > max.properties) {
    return problem('outputSchema', `has ${properties} properties`, `at most ${max.properties}`, limits);
  }
  return depth > max.depth
    ? problem('outputSchema', `has ${depth} levels of objects`, `at most ${max.depth}`, limits)
    : null;
}
