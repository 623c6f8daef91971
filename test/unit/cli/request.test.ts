import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toAgentRequest } from '../../../src/cli/agents.js';
import { toContentsOptions, toEnrichRequest } from '../../../src/cli/rows/enrich-request.js';
import { resumeCommand } from '../../../src/cli/text.js';
import { parseDuration } from '../../../src/core/text/duration.js';
import { useFlags } from '../../support/cli/read-flags.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
writeFileSync(join(cwd, 'in.csv'), 'url\nhttps://example.com\n');

function request(file: string, typed: object = {}) {
  const { value, mistakes } = useFlags('enrich', typed, (flags) => toEnrichRequest(file, flags, cwd), { cwd });
  return { request: value, mistakes };
}

const contents = (typed: object) => useFlags('enrich', typed, toContentsOptions);

it('contents options combines flags and named options', () => {
  const { value: options } = contents({
    text: true,
    highlights: true,
    summary: 'What do they sell?',
    maxAgeHours: '-1',
    option: ['subpages=2', 'extras={"links":3}', 'subpageTarget=about us'],
  });
  expect(options).toEqual({
    text: true,
    highlights: {},
    summary: { query: 'What do they sell?' },
    maxAgeHours: -1,
    subpages: 2,
    extras: { links: 3 },
    subpageTarget: 'about us',
  });
  expect(contents({}).value).toEqual({});
  expect(contents({ summary: true }).value).toEqual({ summary: {} });
});

describe('enrich request', () => {
  it('has defaults', () => {
    const { request: made, mistakes } = request('in.csv');
    expect(mistakes).toEqual([]);
    expect(made).toEqual({ input: 'in.csv', options: {}, batch: 100 });
  });

  it.each([
    ['tab', '\t'],
    ['\\t', '\t'],
    ['semicolon', ';'],
    ['|', '|'],
  ])('accepts the delimiter %s', (text, delimiter) => {
    expect(request('in.csv', { delimiter: text }).request.delimiter).toBe(delimiter);
  });

  it('has the form of the enriched CSV only where it differs from the input', () => {
    const csv = 'out.csv';
    expect(request('in.csv', { csv, csvDelimiter: 'tab', csvBom: false }).request).toMatchObject({
      ...{ csv, csvDelimiter: '\t', csvBom: false },
    });
    expect(request('in.csv', { csvBom: true }).mistakes).toEqual(['--csv-bom needs --csv FILE.']);
    expect(request('in.csv', { csv, csvDelimiter: 'ab' }).mistakes).toEqual([
      expect.stringMatching(/^--csv-delimiter: 'ab' must be one character/),
    ]);
    expect(request('in.csv', { csv, csvDelimiter: '§' }).mistakes).toEqual([
      expect.stringMatching(/^--csv-delimiter: '§' must be an ASCII character/),
    ]);
  });

  it('has the publish at the end of the run, with an absolute path', () => {
    const publish = (flags: object) => request('in.csv', flags).request.publish;
    expect(publish({ publish: '/data/lake', publishKey: ['a', 'b'], publishPartition: 'day' })).toEqual({
      ...{ to: '/data/lake', key: ['a', 'b'], partition: 'day' },
    });
    expect(publish({ publish: 's3://bucket/lake', publishMode: 'append' })).toEqual({
      ...{ to: 's3://bucket/lake', mode: 'append' },
    });
    expect(publish({ publish: 'lake' })?.to).toMatch(/^\/.*\/lake$/);
    expect(publish({ publish: 'ducklake:c.ducklake' })?.to).toMatch(/^ducklake:\/.*\/c\.ducklake$/);
    const mistakes = (flags: object) => request('in.csv', flags).mistakes;
    expect(mistakes({ publishKey: ['a'] })).toEqual(['--publish-key needs --publish TARGET.']);
    expect(mistakes({ publish: 'lake', publishMode: 'merge' })).toEqual([
      '--publish: merge needs a key, the columns that identify a row.',
    ]);
    expect(mistakes({ publish: 'lake', publishMode: 'append', publishKey: ['a'] })).toEqual([
      '--publish: a key is for merge, not for append.',
    ]);
    expect(mistakes({ publish: 'postgres://u:pa55@h/x' })).toEqual([
      expect.stringMatching(/^--publish: leave the password out/),
    ]);
    expect(mistakes({ publish: 'gs://x' }).join()).not.toContain('gs://x');
  });

  it('reports a name that is too long, or is below a file', () => {
    const [tooLong, ...others] = request('x'.repeat(5000), {}).mistakes;
    expect(others).toEqual([]);
    expect(tooLong).toMatch(/^The name of the file is too long: x{80}…$/);
    writeFileSync(join(cwd, 'a-file'), '');
    expect(request('a-file/rows.csv', {}).mistakes).toEqual(['File a-file/rows.csv cannot be read (ENOTDIR).']);
  });

  it('reports every mistake of the command line together', () => {
    const { mistakes } = request('gone.csv', {
      delimiter: 'ab',
      encoding: 'cp437',
      batch: '101',
      refreshAfter: '30',
      csv: '-',
      into: 'gone.csv',
    });
    for (const mistake of [
      /^File gone\.csv not found \(\//m,
      /^--into would overwrite the input/m,
      /^--csv - is not possible here\. Name a file/m,
      /^--delimiter: 'ab'/m,
      /^--encoding: 'cp437' is unknown/m,
      /^--batch: '101'/m,
      /^--refresh-after: '30'/m,
    ])
      expect(mistakes.join('\n')).toMatch(mistake);
  });

  it('refuses a refresh time of zero, which would buy everything again at once', () => {
    expect(request('in.csv', { refreshAfter: '0d' }).mistakes).toEqual([
      expect.stringMatching(/^--refresh-after 0d: an interrupted job would buy its own results again/),
    ]);
  });

  it('refuses a longest wait for a run that is no duration, or above a year', () => {
    const mistakes = (maxRunTime: string) => request('in.csv', { maxRunTime }).mistakes;
    expect(mistakes('366d')).toEqual([
      "--max-run-time: '366d' must be a duration such as 30m, 6h or 1d, and at most 365d.",
    ]);
    expect(['0h', '53w', '6', '365d'].map((text) => mistakes(text).length)).toEqual([1, 1, 1, 0]);
  });

  it.each(['0h', '25d', '6'])('refuses %s as the age at which a run is ended', (maxDuration) => {
    const typed = { maxDuration, effort: 'lwo' };
    const { mistakes } = useFlags('agent run', typed, (flags) => toAgentRequest('q', flags));
    expect(mistakes.join('\n').split('\n')).toEqual([
      `--max-duration: '${maxDuration}' must be a duration such as 20m or 2h, of at most 24d: timers cannot be longer.`,
      expect.stringMatching(/^--effort: 'lwo' is unknown; did you mean low\?/),
    ]);
  });

  it('never lets a result overwrite the input', () => {
    expect(request('in.csv', { csv: './in.csv' }).mistakes).toEqual(['--csv would overwrite the input in.csv.']);
    expect(request('in.csv', { into: join(cwd, 'in.csv') }).mistakes).toHaveLength(1);
    expect(request('in.csv', { into: 'a', csv: './a' }).mistakes).toEqual([
      '--into and --csv name the same file, ./a.',
    ]);
  });

  it('requires a name for a job from standard input', () => {
    expect(request('-').mistakes[0]).toContain('--job NAME');
    expect(request('-', { job: 'brands' }).mistakes).toEqual([]);
  });

  it('reads durations', () => {
    expect(['30s', '90m', '12h', '30d', '2w'].map(parseDuration)).toEqual([
      ...[30_000, 5_400_000, 43_200_000, 2_592_000_000, 1_209_600_000],
    ]);
    expect(['30', '-1d', '1.5h'].map(parseDuration)).toEqual([null, null, null]);
  });
});

describe('resume command', () => {
  it('prints the command as it was typed', () => {
    const args = ['enrich', "it's.csv", '--summary', 'What do they sell?', '--qps', '5'];
    const quoted = `enrich 'it'\\''s.csv' --summary 'What do they sell?' --qps 5`;
    expect(resumeCommand(args, {})).toBe(`searchflow ${quoted}`);
    expect(resumeCommand(args, { npm_lifecycle_event: 'searchflow' })).toBe(`npm run -s searchflow -- ${quoted}`);
    expect(resumeCommand(['start'], { npm_lifecycle_event: 'start' })).toBe('npm start');
    expect(resumeCommand(['start', '--live'], { npm_lifecycle_event: 'start' })).toBe('npm start -- --live');
    expect(resumeCommand(args, { npm_lifecycle_event: 'test' })).toBe(`searchflow ${quoted}`);
  });

  it('leaves out credentials of a database, so that it can be pasted, and names their source', () => {
    const left =
      /^User and password are left out\. .*SEARCHFLOW_WAREHOUSE_URL, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or \.pgpass\.$/;
    for (const into of [
      ['--into', 'postgres://ann:p%40ss@db:6000/dw?schema=raw&sslmode=require'],
      ['--into', 'postgres://db:6000/dw?schema=raw&sslmode=require&user=ann&password=secret'],
    ]) {
      const [command, note, ...more] = resumeCommand(['events', 'sync', ...into], {}).split('\n');
      expect(command).toBe(`searchflow events sync --into 'postgres://db:6000/dw?schema=raw&sslmode=require'`);
      expect(note).toMatch(left);
      expect(more).toEqual([]);
    }
    expect(resumeCommand(['enrich', '--into=postgresql://ann@db/dw'], {})).toContain('--into=postgresql://db/dw\n');
    expect(resumeCommand(['enrich', '--into', 'postgres://db/dw'], {})).toBe(
      'searchflow enrich --into postgres://db/dw',
    );
  });
});
