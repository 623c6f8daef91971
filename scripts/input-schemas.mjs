import { z } from 'zod';

/** The JSON Schemas of each workflow's arguments, from their zod schemas. */
function schemasOf(workflowInputs) {
  return Object.fromEntries(
    Object.entries(workflowInputs).map(([workflow, args]) => [
      workflow,
      args.map((schema) => plainSchema(z.toJSONSchema(schema))),
    ]),
  );
}

/**
 * Returns a schema in a simple form: one type each (`anyOf` instead of a list of types), without the dialect and without the bounds of
 * every whole number, which have no effect.
 */
export function plainSchema(schema) {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([name, value]) => name !== '$schema' && Math.abs(value) !== Number.MAX_SAFE_INTEGER,
  );
  const { type, ...rest } = Object.fromEntries(kept.map(([name, value]) => [name, plainSchema(value)]));
  if (type === undefined) return rest;
  return Array.isArray(type) ? { anyOf: type.map((one) => ({ type: one, ...rest })) } : { type, ...rest };
}

/** The module that workflows read: texts, because each workflow has modules of its own and needs only one of them. */
export function schemasModule(workflowInputs) {
  const rows = Object.entries(schemasOf(workflowInputs)).map(
    ([workflow, args]) => `  ${workflow}:\n    ${quoted(JSON.stringify(args))},\n`,
  );
  return `// Written by scripts/make-input-schemas.mjs from src/api/workflow-inputs.ts; change the inputs there, not in this file.

/** JSON Schemas of the arguments of each workflow, as JSON. */
export const inputSchemas: { readonly [workflow: string]: string } = {
${rows.join('')}};
`;
}

const quoted = (json) => `'${json.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** The same schemas for programs in other languages. */
export function schemasDoc(workflowInputs) {
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  const workflows = Object.fromEntries(
    Object.entries(schemasOf(workflowInputs)).map(([workflow, args]) => [
      workflow,
      { type: 'array', prefixItems: args },
    ]),
  );
  return `${JSON.stringify({ $schema, $defs: workflows }, null, 2)}\n`;
}
