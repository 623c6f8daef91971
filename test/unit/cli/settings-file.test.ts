import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSettingsFile } from '../../../src/cli/set-up/settings-file.js';
import { readSettings } from '../../../src/worker/config/config.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();

/** Loads a file with this text; returns the environment and what is wrong. */
function load(
  text: string,
  env: Record<string, string> = {},
  args: readonly string[] = ['--settings', '.env', 'jobs'],
) {
  writeFileSync(join(cwd, '.env'), text);
  const all: Record<string, string | undefined> = { ...env };
  const wrong = loadSettingsFile(args, all, cwd);
  return { env: all, wrong };
}

describe('a file of settings', () => {
  it('sets the variables that the environment lacks, and leaves empty ones alone', () => {
    const text =
      '\uFEFF# settings\r\nSEARCHFLOW_QPS=5\r\nexport EXA_API_KEY="a#b"\n\nSEARCHFLOW_TEAM=file\nSEARCHFLOW_STORE=file\n';
    expect(load(text, { SEARCHFLOW_TEAM: 'ours', SEARCHFLOW_STORE: '' })).toEqual({
      wrong: null,
      env: {
        ...{ SEARCHFLOW_QPS: '5', EXA_API_KEY: 'a#b', SEARCHFLOW_TEAM: 'ours', SEARCHFLOW_STORE: '' },
        SEARCHFLOW_SETTINGS: join(cwd, '.env'),
      },
    });
  });

  it('is read only if the flag or the variable names it, and the flag wins', () => {
    const text = 'SEARCHFLOW_QPS=5';
    expect(load(text, {}, ['jobs']).env).toEqual({});
    expect(load(text, { SEARCHFLOW_SETTINGS: '' }, ['jobs']).env).toEqual({ SEARCHFLOW_SETTINGS: '' });
    for (const args of [
      ['jobs', '--settings', '.env'],
      ['--settings=.env', 'jobs'],
    ])
      expect(load(text, { SEARCHFLOW_SETTINGS: 'nowhere' }, args).env.SEARCHFLOW_QPS).toBe('5');
    expect(load(text, { SEARCHFLOW_SETTINGS: '.env' }, ['jobs', '--', '--settings', 'x']).env.SEARCHFLOW_QPS).toBe('5');
  });

  it.each([
    ['SEARCHFLOW_QPS=5\ncanary\n', /^--settings: .*\.env has no NAME=value in line 2\.$/],
    ['NODE_EXTRA_CA_CERTS=/ca.pem', /sets NODE_EXTRA_CA_CERTS, which Node reads before the file/],
    ['SEARCHFLOW_SETTINGS=other', /cannot name another one/],
  ])('is refused with %j, and nothing is set', (text, wrong) => {
    const loaded = load(text);
    expect(loaded.wrong).toMatch(wrong);
    expect(loaded.wrong).not.toContain('canary');
    expect(Object.keys(loaded.env)).toEqual(['SEARCHFLOW_SETTINGS']);
  });

  it('is named in the messages about its values, and about unknown variables in it', () => {
    const text =
      'SEARCHFLOW_QPS=abc\nSEARCHFLOW_ALERT_ON=x\nEXA_API_KEY="a key"\nSEARCHFLOW_QSP=5\nSEARCHFLOW_CONCURRENCY=x\n';
    const { env } = load(text, { SEARCHFLOW_CONCURRENCY: 'y' });
    const file = join(cwd, '.env');
    const { mistakes, warnings } = readSettings({ env, flags: {}, cwd, say: () => undefined });
    expect(mistakes.map(({ text }) => text)).toEqual([
      expect.stringContaining(`EXA_API_KEY: the value (not shown) (${file})`),
      expect.stringContaining(`SEARCHFLOW_QPS: 'abc' (${file}) is not`),
      // The environment wins, so the mistake is there.
      expect.stringContaining("SEARCHFLOW_CONCURRENCY: 'y' (environment) is not"),
      expect.stringContaining(`SEARCHFLOW_ALERT_ON: "x" (${file}) is not an event`),
    ]);
    expect(warnings).toEqual([expect.stringContaining(`SEARCHFLOW_QSP (${file}) is an unknown variable`)]);
  });

  it('is refused beside a second one', () => {
    expect(load('', {}, ['--settings', '.env', 'jobs', '--settings=other']).wrong).toBe(
      '--settings names two files. Name one file.',
    );
  });

  it('that is missing is named with the variable that names it', () => {
    expect(load('', { SEARCHFLOW_SETTINGS: 'gone' }, ['jobs']).wrong).toMatch(
      /^SEARCHFLOW_SETTINGS: .*gone cannot be read \(ENOENT\)/,
    );
  });
});
