import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { outputSchema } from '../../../scripts/output-schemas.mjs';
import { errorOutput } from '../../../src/api/outputs/index.js';
import { asksForJson, failureData, failureText, moreText } from '../../../src/cli/shared/failure-text.js';
import { CodedError } from '../../../src/core/errors/coded-error.js';
import { type ErrorCode, errorEntries } from '../../../src/core/errors/registry.js';
import { fakeTerminal } from '../../support/cli/fake-terminal.js';
import { typeCommand } from '../../support/cli/type-command.js';

const codes = Object.keys(errorEntries) as ErrorCode[];

describe('explain', () => {
  it('says for each code what happened, why, what to do and how the command ends, and opens nothing', async () => {
    for (const code of codes) {
      const { happened, why, fix } = errorEntries[code];
      const typed = await typeCommand('/', ['explain', code]);
      expect(typed).toMatchObject({ code: 0, calls: [] });
      for (const part of [code, happened, why, fix, 'Exit code']) expect(typed.out).toContain(part);
    }
  });

  it('lists all codes, also as JSON', async () => {
    const { out } = await typeCommand('/', 'explain');
    for (const code of codes) expect(out).toContain(`\n  ${code} `);
    const json = JSON.parse((await typeCommand('/', 'explain --json')).out) as { errors: { code: string }[] };
    expect(json.errors.map(({ code }) => code)).toEqual(codes);
  });

  it('proposes the nearest code', async () => {
    expect(await typeCommand('/', 'explain budgte-reached')).toMatchObject({
      code: 2,
      refusal: 'There is no error code budgte-reached. Did you mean budget-reached?',
    });
    const { refusal } = await typeCommand('/', ['explain', 'x'.repeat(100_000)]);
    expect(refusal).toContain('searchflow explain');
    expect(refusal.length).toBeLessThan(1000);
  });
});

describe('the entry of a code', () => {
  it.each(codes)('%s has whole sentences and names what changes nothing', (code) => {
    const { title, happened, why, fix, command = 'searchflow', exits } = errorEntries[code];
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(title).toMatch(/^[A-Z].{5,80}[^.]$/);
    for (const text of [happened, why, fix]) expect(text).toMatch(/^[A-Z`].{10,260}\.$/);
    expect(command).not.toContain('\n');
    expect(exits.length).toBeGreaterThan(0);
  });
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

  it('ends with a line that names its code', () => {
    expect(moreText('budget-reached')).toBe('More: searchflow explain budget-reached');
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
      terminal.sayJson(failureData(failureText(error)));
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
    terminal.sayJson(failureData({ text: message, code: 2, errorCode: 'input-missing' }));
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
