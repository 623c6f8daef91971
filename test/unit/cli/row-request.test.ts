import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toRowRequest } from '../../../src/cli/rows/enrich-request.js';
import { useFlags } from '../../support/cli/read-flags.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
const schema = { type: 'object', properties: { ceo: { type: 'string' } } };
writeFileSync(join(cwd, 'schema.json'), JSON.stringify(schema));
writeFileSync(join(cwd, 'list.json'), '[]');
writeFileSync(join(cwd, 'request.json'), '{"query":"{{name}}","numResults":7,"userLocation":"{{country}}"}');

function read(typed: object) {
  const { value, mistakes } = useFlags('enrich', typed, toRowRequest, { cwd });
  return { ...value, mistakes };
}

describe('flags of a row operation', () => {
  it('are contents if no operation is named', () => {
    expect(read({ text: true })).toEqual({ options: { text: true }, mistakes: [] });
    expect(read({ op: 'contents' })).toEqual({ options: {}, mistakes: [] });
  });

  it('make the request of a search, with contents of its pages if requested', () => {
    const flags = { op: 'search', query: '{{name}} official site', numResults: '5' };
    expect(read({ ...flags, highlights: true, option: ['type=fast'] })).toEqual({
      operation: 'search',
      template: { query: '{{name}} official site' },
      options: { numResults: 5, contents: { highlights: {} }, type: 'fast' },
      mistakes: [],
    });
  });

  it('read a whole request from a file, and fields that are rendered from --option, too', () => {
    expect(read({ op: 'search', request: 'request.json' })).toMatchObject({
      template: { query: '{{name}}', numResults: 7, userLocation: '{{country}}' },
      mistakes: [],
    });
    const flags = { op: 'answer', query: '{{name}}?', text: true, option: ['userLocation="{{country}}"'] } as const;
    expect(read(flags)).toMatchObject({
      template: { query: '{{name}}?', userLocation: '{{country}}' },
      options: { text: true },
      mistakes: [],
    });
  });

  it('take a schema inline, and refuse one that no history can hold', () => {
    const ask = { op: 'agent', query: 'CEO of {{name}}' } as const;
    expect(read({ ...ask, schema: JSON.stringify(schema) })).toMatchObject({
      options: { outputSchema: schema },
      mistakes: [],
    });
    const large = JSON.stringify({ ...schema, description: 'x'.repeat(1_800_000) });
    writeFileSync(join(cwd, 'large.json'), large);
    const why = 'has 1758 KB as JSON; 256 KB is the limit. Shorten its schema, texts or lists.';
    expect(read({ ...ask, schema: 'large.json' }).mistakes).toEqual([`--schema: large.json ${why}`]);
    expect(read({ ...ask, schema: large }).mistakes).toEqual([`--schema: the inline text ${why}`]);
    expect(read({ op: 'search', request: 'large.json' }).mistakes[0]).toBe(`--request: large.json ${why}`);
    expect(read({ ...ask, schema: '{"type": ' }).mistakes[0]).toContain('--schema: the inline text is not JSON');
  });

  it('make agent runs, with their schema unchanged', () => {
    expect(
      read({ op: 'agent', query: 'CEO of {{name}}', schema: 'schema.json', effort: 'low', rowsPerRun: '1' }),
    ).toEqual({
      operation: 'agent',
      template: { query: 'CEO of {{name}}' },
      options: { outputSchema: schema, effort: 'low' },
      rowsPerRun: 1,
      mistakes: [],
    });
  });

  const refused: readonly (readonly [object, RegExp])[] = [
    [{ query: '{{name}}' }, /--query is for --op search, answer, agent, not for contents/],
    [{ request: 'request.json' }, /--request is not for --op contents/],
    [{ op: 'search' }, /search needs --query TEMPLATE.*or --request FILE/],
    [{ op: 'search', query: '{{name}}', rowsPerRun: '5' }, /--rows-per-run is for --op agent/],
    [{ op: 'answer', query: '{{name}}', highlights: true }, /--highlights is for --op contents, search, not for/],
    [{ op: 'search', query: '{{name}}', batch: '5', defaultScheme: 'https' }, /--batch is for --op contents/],
    [{ op: 'search', query: '{{name}}', numResults: '0' }, /--num-results: '0' must be a whole number from 1 to 9999/],
    [{ op: 'search', query: '{{name}}', request: 'request.json' }, /--request and --query both set query/],
    [{ op: 'search', query: '{{name}}', option: ['query=x'] }, /--query and --option query both set query/],
    [
      { op: 'agent', query: '{{name}}', effort: 'xxhigh' },
      /--effort: 'xxhigh' is unknown; did you mean xhigh\? To send it unchanged, pass --unchecked\.$/,
    ],
    [{ op: 'agent', query: '{{name}}', schema: 'none.json' }, /--schema: file none\.json not found/],
    [{ op: 'agent', query: '{{name}}', schema: 'list.json' }, /--schema: list\.json must contain a JSON object/],
  ];
  it.each(refused)('are refused with a remedy: %j', (flags, what) => {
    expect(read(flags).mistakes.join('\n')).toMatch(what);
  });
});

it.each(['answer', 'search', 'agent'] as const)('a schema of any type reaches %s: the service decides', (op) => {
  const schema = { type: 'array', items: { type: 'string' } };
  const request = read({ op, query: '{{name}}', schema: JSON.stringify(schema) });
  expect(request.options).toEqual({ outputSchema: schema });
});
