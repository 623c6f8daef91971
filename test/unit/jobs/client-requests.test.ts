import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkRequest } from '../../../src/activities/operations/whole-request.js';
import { stageOperation } from '../../../src/activities/rows/stage-operation.js';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import { createTransport } from '../../../src/api/transport.js';
import type { Endpoint } from '../../../src/api/wire/endpoint.js';
import { toAgentRequest } from '../../../src/cli/agents.js';
import { toRowRequest } from '../../../src/cli/rows/enrich-request.js';
import type { RowOperation } from '../../../src/core/rows/row-operation.js';
import type { Json } from '../../../src/core/text/json.js';
import { sha256 } from '../../../src/worker/config/sha256.js';
import { inputProblems } from '../../../src/workflows/shared/public-input.js';
import { useFlags } from '../../support/cli/read-flags.js';

type Fields = Record<string, Json>;
interface Requests {
  readonly base: Fields;
  readonly rows?: RowOperation;
  readonly fields: Record<string, readonly Json[]>;
}

/** The requests that the service's public clients can make; see the file. */
const { operations } = JSON.parse(readFileSync('test/fixtures/api/client-requests.json', 'utf8')) as {
  readonly operations: Record<OperationName, Requests>;
};
const cases = Object.entries(operations).flatMap(([name, { fields }]) =>
  Object.entries(fields).flatMap(([field, values]) =>
    values.map((value) => [name as OperationName, field, value] as const),
  ),
);

// Nothing listens here, and nothing is sent.
const transport = createTransport({ baseUrl: 'http://127.0.0.1:9', apiKey: null });
const context = { sha256, origin: 'sandbox', concurrency: 5, transport };

/** The problem of a request as the activity of its operation sees it; null if it is sent. */
function ofActivity(name: OperationName, input: Fields, unchecked?: boolean): string | null {
  try {
    const endpoint = operationTable[name] as unknown as Endpoint<Fields, unknown>;
    checkRequest({ transport }, endpoint, input, { unchecked });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The problem of a request for rows. */
function ofRows(name: OperationName, options: Fields, unchecked?: boolean): string | null {
  const { rows = 'contents' } = operations[name];
  const urls = rows === 'contents';
  const template = urls ? undefined : { query: '{{name}}' };
  try {
    const request = {
      operation: rows,
      options,
      template,
      unchecked,
      urlColumn: urls ? 'url' : null,
      batch: 100,
    };
    stageOperation(context, request);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The problems of a request in the workflows that take it, as plain JSON. */
function ofWorkflows(name: OperationName, fields: Fields, unchecked?: boolean): readonly string[] {
  const { base, rows } = operations[name];
  const whole = { ...base, ...fields };
  const calls: [string, unknown[]][] = [];
  if (rows) calls.push(['enrichCsv', [{ input: 'a.csv', operation: rows, options: fields, unchecked }]]);
  if (rows === 'agent') {
    calls.push(['runAgent', [whole, { unchecked }]]);
    calls.push(['runAgentRows', [{ input: 'a.csv', query: 'q', request: fields, unchecked }]]);
    const { effort, dataSources, systemPrompt } = fields;
    calls.push(['runAgentRows', [{ input: 'a.csv', query: 'q', effort, dataSources, systemPrompt, unchecked }]]);
  }
  if (name === 'createResearchTask') calls.push(['runResearch', [whole, { unchecked }]]);
  if (name === 'createMonitor') calls.push(['createMonitor', [{ definition: whole, unchecked }]]);
  if (/Monitor/.test(name) && name !== 'createMonitor')
    calls.push(['monitorCall', [{ operation: name, input: whole, unchecked }]]);
  return calls.flatMap(([workflow, args]) => inputProblems(workflow, JSON.parse(JSON.stringify(args)), true));
}

/** The problems of a request in the commands that take it. */
function ofCommands(name: OperationName, field: string, value: Json, unchecked?: boolean): readonly string[] {
  const { rows } = operations[name];
  const found: (readonly string[])[] = [];
  const ofRows = (typed: object) => found.push(useFlags('enrich', typed, toRowRequest).mistakes);
  const ofRun = (typed: object) =>
    found.push(useFlags('agent run', typed, (flags) => toAgentRequest('q', flags)).mistakes);
  const option = [`${field}=${JSON.stringify(value)}`];
  if (rows) {
    const query = rows === 'contents' ? undefined : '{{name}}';
    ofRows({ op: rows, query, option, unchecked });
  }
  if (rows === 'agent') {
    ofRun({ option, unchecked });
    if (field === 'effort') ofRun({ effort: String(value), unchecked });
  }
  if (field === 'numResults' && rows)
    ofRows({ op: rows, query: rows === 'search' ? '{{q}}' : undefined, numResults: String(value) });
  return found.flat();
}

describe("what the service's clients accept", () => {
  test.each(cases)('is sent: %s with %s %j', (name, field, value) => {
    const { base, rows } = operations[name];
    expect(ofActivity(name, { ...base, [field]: value })).toBeNull();
    if (rows) expect(ofRows(name, { [field]: value })).toBeNull();
    expect(ofWorkflows(name, { [field]: value })).toEqual([]);
    expect(ofCommands(name, field, value)).toEqual([]);
  });

  test.each(Object.keys(operations) as OperationName[])('a null for each field of %s counts as absent', (name) => {
    const { base, fields } = operations[name];
    const nulls = Object.fromEntries(
      Object.keys(fields)
        .filter((field) => !(field in base))
        .map((field) => [field, null]),
    );
    expect(ofActivity(name, { ...base, ...nulls })).toBeNull();
  });
});
