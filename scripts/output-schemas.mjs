// node scripts/output-schemas.mjs <folder with the compiled modules>: writes JSON Schemas into its folder `schemas`: the output of each
// command with --json, the arguments and results of workflows, and the calls of activities.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { schemasDoc } from './input-schemas.mjs';
import { workflowsDoc } from './workflows-doc.mjs';

const dist = resolve(process.argv[2]);
const modules = [
  'api/command-outputs',
  'core/workflow-input-schemas',
  'api/workflow-interface',
  'api/operations',
  'core/workflow-result-schemas',
];
const load = (module) => import(pathToFileURL(join(dist, `${module}.js`)).href);
const built = Object.assign(
  {},
  ...(await Promise.all(
    [...modules, 'activities/operations/landed-answers', 'activities/operations/whole-request'].map(load),
  )),
);
const { commandOutputs, errorOutput, outputSchema, schemaFile, workflowInputs } = built;
const { results, activities } = workflowsDoc(built);
const folder = join(dist, 'schemas');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [command, schema] of Object.entries({ ...commandOutputs, error: errorOutput }))
  writeFileSync(join(folder, schemaFile(command)), `${JSON.stringify(outputSchema(command, schema), null, 2)}\n`);
writeFileSync(join(folder, 'workflow-inputs.json'), schemasDoc(workflowInputs));
writeFileSync(join(folder, 'workflow-results.json'), results);
writeFileSync(join(folder, 'activities.json'), activities);
