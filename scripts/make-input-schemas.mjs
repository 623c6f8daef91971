// node scripts/make-input-schemas.mjs: writes the schemas with which workflows check their input, from the built zod schemas.
import { writeFileSync } from 'node:fs';
import { workflowInputs } from '../dist/core/workflow-input-schemas.js';
import { schemasModule } from './input-schemas.mjs';
import { inRoot } from './root.mjs';

writeFileSync(inRoot('src', 'core', 'input-schemas.ts'), schemasModule(workflowInputs));
