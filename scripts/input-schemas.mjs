import { z } from 'zod';

/**
 * The JSON Schemas of each workflow's arguments, from their zod schemas. `textsOf`: returns the texts of a schema, from the
 * documentation of its field and the words for its values.
 */
function schemasOf(workflowInputs, textsOf) {
  const described = (_, schema) => {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
    const { must, description, ...rest } = schema;
    // A field may have one of these names.
    return [must, description].some((text) => typeof text === 'object')
      ? schema
      : { ...rest, ...textsOf(description, must) };
  };
  return Object.entries(workflowInputs).map(([workflow, args]) => [
    workflow,
    args.map((schema) => JSON.parse(JSON.stringify(plainSchema(z.toJSONSchema(schema)), described))),
  ]);
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
  const { description, ...others } = rest;
  return Array.isArray(type)
    ? { anyOf: type.map((one) => ({ type: one, ...others })), description }
    : { type, ...rest };
}

/** The module that workflows read: texts, because each workflow has modules of its own and needs only one of them. */
export function schemasModule(workflowInputs) {
  // Messages name the values of a field; its documentation would only make the bundle of workflows larger.
  const rows = schemasOf(workflowInputs, (_, must) => ({ must })).map(
    ([workflow, args]) => `  ${workflow}:\n    ${quoted(JSON.stringify(args))},\n`,
  );
  return `// Written by npm run generate from src/core/workflow-input-schemas.ts; change the inputs there, not in this file.

/** JSON Schemas of the arguments of each workflow, as JSON. */
export const inputSchemas: { readonly [workflow: string]: string } = {
${rows.join('')}};
`;
}

/** The names in tables that load schemas, for code that must not load them: a text for each table, with its names and spaces. */
export function namesModule(tables) {
  const lines = Object.entries(tables).map(([table, names]) => {
    const text = `'${Object.keys(names).join(' ')}',\n`;
    return `  ${table}:${`  ${table}: ${text}`.length > 121 ? '\n    ' : ' '}${text}`;
  });
  return `// Written by npm run generate from the tables of these names; change them there, not in this file.\nexport const generatedNames = {\n${lines.join('')}};\n`;
}

const quoted = (json) => `'${json.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** The same schemas for programs in other languages. */
export function schemasDoc(workflowInputs) {
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  const workflows = Object.fromEntries(
    schemasOf(workflowInputs, (description, must) => ({ description: description ?? must })).map(([workflow, args]) => [
      workflow,
      { type: 'array', prefixItems: args },
    ]),
  );
  return `${JSON.stringify({ $schema, $defs: workflows }, null, 2)}\n`;
}
