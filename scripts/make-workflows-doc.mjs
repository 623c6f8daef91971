// node scripts/make-workflows-doc.mjs: writes docs/reference/workflows.md from the built schemas of workflows and operations.
import { writeFileSync } from 'node:fs';
import { readAnswerSchemas } from '../dist/activities/operations/landed-answers.js';
import { callOptions } from '../dist/activities/operations/whole-request.js';
import { operations } from '../dist/api/index.js';
import { workflowInterface } from '../dist/api/workflow-interface.js';
import { workflowInputs } from '../dist/core/workflow-input-schemas.js';
import { operationResult } from '../dist/core/workflow-result-schemas.js';
import { inRoot } from './root.mjs';
import { workflowsDoc } from './workflows-doc.mjs';

const { page } = workflowsDoc({
  ...{ workflowInputs, workflowInterface, operations, operationResult, callOptions, readAnswerSchemas },
});
writeFileSync(inRoot('docs', 'reference', 'workflows.md'), page);
