import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { errorOutput, outputSchema } from '../../../src/api/command-outputs.js';
import { asksForJson, failureOf, fixText } from '../../../src/cli/shared/failure-text.js';
import { CodedError } from '../../../src/core/errors/coded-error.js';
import { type ErrorCode, errorFixes } from '../../../src/core/errors/registry.js';
import { fakeTerminal } from '../../support/cli/fake-terminal.js';
import { typeCommand } from '../../support/cli/type-command.js';

const codes = Object.keys(errorFixes) as ErrorCode[];

it.each(codes)('the code %s has one sentence that says what to do, and offers no download', (code) => {
  expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
  expect(errorFixes[code]).toMatch(/^[A-Z`][^\n]{10,260}\.$/);
  expect(errorFixes[code]).not.toMatch(/\. |download/);
});

describe('an error', () => {
  it.each([
    ['enrich', 'missing-argument'],
    ['enrich nowhere.csv', 'input-missing'],
    ['enrich nowhere.csv --batch x', 'input-missing'],
    ['enrich - --limit x', 'invalid-argument'],
    ['enrich - --frob', 'unknown-option'],
    ['limits set', 'missing-argument'],
    ['status a b', 'too-many-arguments'],
    ['events', 'missing-argument'],
    ['frob', 'unknown-command'],
  ])('of the command line has a code: %s', async (line, errorCode) => {
    expect(await typeCommand('/', line)).toMatchObject({ code: 2, errorCode });
  });

  it('ends with a line that has its code and says what to do', () => {
    expect(fixText('budget-reached')).toBe('budget-reached: Resume the job with a higher `--max-cost`.');
  });

  it('of a command with --json is one line of the schema in the package', () => {
    const check = new Ajv2020({ strict: false }).compile(outputSchema('error', errorOutput));
    const errors = [
      ...codes.map((code) => new CodedError(code, 'a\n"b"\u2028')),
      new TypeError('x'),
      'text',
      undefined,
    ];
    for (const error of errors) {
      const { terminal, err } = fakeTerminal();
      terminal.sayJson(failureOf(error));
      expect(err().split('\n')).toEqual([expect.any(String), '']);
      expect(check(JSON.parse(err())), JSON.stringify(check.errors)).toBe(true);
    }
  });

  it('of a command with --json is a whole object if its texts are long, hostile or have secrets', () => {
    const columns = Array.from({ length: 400 }, (_, index) => `column "${index}"`).join(', ');
    const secret = 'canary-5f2e91c4"';
    const address = 'postgres://reader:hidden-5f2e@host/db?user=reader&password=hidden-5f2e';
    const message = [columns, '\u001b[31mred\u001b[0m \u202e', `key ${secret}`, `at "${address}"`, 'last line'].join(
      '\n',
    );
    const { terminal, err } = fakeTerminal({ env: { EXA_API_KEY: secret } });
    terminal.sayJson({ kind: 'error', code: 'input-missing', message, fix: '', exitCode: 2 });
    for (const absent of ['\n', '\u001b', '\u202e', 'canary', 'hidden'])
      expect(err().trimEnd(), JSON.stringify(absent)).not.toContain(absent);
    const { message: shown } = JSON.parse(err()) as { readonly message: string };
    const [first = '', red, ...others] = shown.split('\n');
    expect(first).toMatch(/^column "0", .*…$/);
    expect(first.length).toBeLessThanOrEqual(2000);
    expect([red, ...others]).toEqual([
      'red ',
      'key [redacted]',
      'at "postgres://[redacted]@host/db?user=[redacted]&password=[redacted]"',
      'last line',
    ]);
  });

  it('of a command with --json is asked for by a word before --', () => {
    expect(asksForJson(['jobs', '--json'])).toBe(true);
    expect(asksForJson(['agent', 'run', '--', '--json'])).toBe(false);
  });
});
