import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { commandOutputs, outputSchema } from '../../../src/api/command-outputs.js';
import { buildProgram } from '../../../src/cli/program.js';
import { printed } from '../../../src/core/text/printed.js';
import { checkOutput, commandOf } from '../../support/cli/check-output.js';
import { commandsIn, pathOf } from '../../support/cli/wrong-lines.js';

const sums = { requests: 1, units: 1, landedMicros: 1, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 };
const total = printed(sums) as object;

it('each command with --json has a schema', () => {
  const withJson = commandsIn(buildProgram('0.0.0', () => undefined))
    .filter(({ options }) => options.some(({ long }) => long === '--json'))
    .map((command) => pathOf(command).join(' '));
  const without = withJson.filter((command) => !(command in commandOutputs));
  expect(
    without,
    'Describe the output in a schema of src/core, add it to commandOutputs in src/api/command-outputs.ts, and type the output in src/cli with it.',
  ).toEqual([]);
});

it('an unknown field, a wrong type and a missing field do not fit', () => {
  const usage = { kind: 'usage', by: 'job', lines: [], total };
  const check = (changed: object) => () => checkOutput(['usage', '--json'], JSON.stringify({ ...usage, ...changed }));
  expect(check({})).not.toThrow();
  for (const wrong of [{ more: 1 }, { by: 'week' }, { total: { ...total, units: '1' } }, { lines: undefined }])
    expect(check(wrong)).toThrow('does not fit its schema');
  expect(() => checkOutput(['worker', '--json'], '{}')).toThrow('has no schema');
  expect(commandOf(['--quiet', 'schedule', 'list', '--json'])).toBe('schedule list');
});

it('the JSON Schema of the package compiles and allows the fields of later versions', () => {
  const ajv = new Ajv2020({ strict: false });
  for (const [command, schema] of Object.entries(commandOutputs))
    expect(() => ajv.compile(outputSchema(command, schema))).not.toThrow();
  const usage = ajv.getSchema('searchflow/schemas/usage.json');
  expect(usage?.({ kind: 'usage', by: 'job', lines: [], total, later: 1 })).toBe(true);
  expect(usage?.({ kind: 'usage', by: 'week', lines: [], total })).toBe(false);
});
