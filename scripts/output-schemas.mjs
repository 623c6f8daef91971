// node scripts/output-schemas.mjs <folder with the compiled modules>: writes the JSON Schema of the output of each command with --json into
// its folder `schemas`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

/** The file of the schema of a command, such as `events-sync.json`. */
export const schemaFile = (command) => `${command.replaceAll(' ', '-')}.json`;

/** The JSON Schema of the output of a command. Further fields are allowed, because later versions may add some. */
export function outputSchema(command, schema) {
  const override = ({ jsonSchema }) => {
    if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  };
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'output', override });
  const title = command === 'error' ? 'an error on stderr' : `searchflow ${command} --json`;
  return { $schema, $id: `searchflow/schemas/${schemaFile(command)}`, title, ...rest };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const dist = resolve(process.argv[2]);
  const { commandOutputs, errorOutput } = await import(pathToFileURL(join(dist, 'api', 'outputs', 'index.js')).href);
  const folder = join(dist, 'schemas');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [command, schema] of Object.entries({ ...commandOutputs, error: errorOutput }))
    writeFileSync(join(folder, schemaFile(command)), `${JSON.stringify(outputSchema(command, schema), null, 2)}\n`);
}
