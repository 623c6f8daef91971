import { expect, it } from 'vitest';
import { commandOutputs, errorOutput, outputSchema, schemaFile } from '../../../src/api/command-outputs.js';
import { buildProgram } from '../../../src/cli/program.js';
import { exitCodeMeanings } from '../../../src/core/processes/exit-codes.js';
import { commandsIn, helpOf } from '../../support/cli/wrong-lines.js';

// What a person or a program meets. A change of these files is a decision: `npm run golden` writes them, the commit says why.

it('the help of every command is the recorded one', async () => {
  const program = buildProgram('0.0.0', () => undefined);
  const helps = [program, ...commandsIn(program)].map((command) => helpOf(command).trim());
  await expect(`${helps.join('\n\n\n')}\n`).toMatchFileSnapshot('golden/help.txt');
});

it('the fields of every output are the recorded ones', async () => {
  const fields = Object.entries({ ...commandOutputs, error: errorOutput }).flatMap(([command, schema]) =>
    fieldsOf(outputSchema(command, schema) as Schema).map((field) => `${schemaFile(command)} ${field}`),
  );
  await expect(`${fields.join('\n')}\n`).toMatchFileSnapshot('golden/outputs.txt');
});

it('the exit codes are the recorded ones', async () => {
  const lines = exitCodeMeanings.map(([code, meaning]) => `${code} ${meaning}`);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('golden/exit-codes.txt');
});

interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Record<string, Schema>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
}

/** A line for each field below a schema: its path, with `?` if it may be missing, and its type. */
function fieldsOf(schema: Schema, path = '$'): string[] {
  const { properties, items, additionalProperties, anyOf, oneOf, required, ...rest } = schema;
  const { $schema, $id, title, description, ...type } = rest;
  return [
    `${path} ${JSON.stringify(type)}`,
    ...Object.entries(properties ?? {}).flatMap(([name, field]) =>
      fieldsOf(field, `${path}.${name}${required?.includes(name) ? '' : '?'}`),
    ),
    ...(items ? fieldsOf(items, `${path}[]`) : []),
    ...(typeof additionalProperties === 'object' ? fieldsOf(additionalProperties, `${path}.*`) : []),
    ...[...(anyOf ?? []), ...((oneOf as readonly Schema[]) ?? [])].flatMap((one) => fieldsOf(one, `${path}|`)),
  ];
}
