import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { workflowsDoc } from '../../../scripts/workflows-doc.mjs';
import { failureTexts } from '../../../scripts/workflows-texts.mjs';
import { localFailures } from '../../../src/activities/call/failure.js';
import { readAnswerSchemas } from '../../../src/activities/operations/landed-answers.js';
import { callOptions } from '../../../src/activities/operations/whole-request.js';
import { operations } from '../../../src/api/operations.js';
import { workflowInterface } from '../../../src/api/workflow-interface.js';
import { BUDGET_EXCEEDED } from '../../../src/core/choices.js';
import { callCodes } from '../../../src/core/errors/call-codes.js';
import { ALL_REFUSED, SERVICE_UNRECOGNIZED } from '../../../src/core/rows/stop-at-failed.js';
import { workflowInputs } from '../../../src/core/workflow-input-schemas.js';
import { operationResult } from '../../../src/core/workflow-result-schemas.js';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), 'utf8');

const made = workflowsDoc({
  workflowInputs,
  workflowInterface,
  operations,
  operationResult,
  callOptions,
  readAnswerSchemas,
});

it('docs/reference/workflows.md equals the schemas (else: npm run generate)', () => {
  expect(read('docs/reference/workflows.md')).toBe(made.page);
});

it('the JSON Schemas name results of known workflows, and the call of each activity', () => {
  const [results, activities] = [made.results, made.activities].map((text) => Object.keys(JSON.parse(text).$defs));
  expect(Object.keys(workflowInputs)).toEqual(
    expect.arrayContaining((results ?? []).map((name) => name.split('.')[0])),
  );
  expect(results).toContain('enrichCsv.result');
  expect(activities).toEqual(expect.arrayContaining(Object.keys(operations).map((name) => `${name}.input`)));
});

it('docs/reference/workflows.md explains each type of failure in the code, and no other', () => {
  const files = readdirSync(at('src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(workflows|activities|worker)\/.*\.ts$/.test(file),
  );
  // The type is the last argument of a failure, or the one before its facts, or its field.
  const type = /(?:,\s*'((?:[A-Z][a-z]+){2,})',?\s*(?:\{.*\}|facts)?\)|\btype: '((?:[A-Z][a-z]+){2,})')/g;
  const thrown = files.flatMap((file) => [...read(`src/${file}`).matchAll(type)]);
  const types = [
    ...[...Object.keys(callCodes), ...Object.values(localFailures), BUDGET_EXCEEDED, ALL_REFUSED, SERVICE_UNRECOGNIZED],
    ...['WalkError', ...thrown.map(([, last, field]) => last ?? field)],
  ];
  expect(Object.keys(failureTexts).sort()).toEqual([...new Set(types)].sort());
});
