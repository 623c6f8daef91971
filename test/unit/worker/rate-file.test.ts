import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rateProfiles } from '../../../src/core/limiter/rate.js';
import { readConfig } from '../../../src/worker/config/config.js';
import { contentsQps } from '../../../src/worker/config/derived-settings.js';
import { rateProfileProblems } from '../../../src/worker/config/price-file.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();

function file(name: string, content: unknown): string {
  const path = join(dir, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('a rate profile from a file', () => {
  it('has the form of the built-in profiles', () => {
    expect(rateProfileProblems(rateProfiles.public)).toEqual([]);
  });

  it.each([
    ['no JSON', '{', /cannot be read: it is not JSON/],
    ['no bucket', { name: 'x', buckets: [] }, /buckets/],
    ['half a request a second', { name: 'x', buckets: [{ name: 'a', qps: 0.5, classes: ['*'] }] }, /buckets\.0\.qps/],
    ['an unknown field', { name: 'x', buckets: [{ name: 'a', qsp: 1, qps: 1, classes: ['*'] }] }, /qsp/],
    [
      'two buckets of one name',
      {
        name: 'x',
        buckets: [
          { name: 'a', qps: 1, classes: ['*'] },
          { name: 'a', qps: 2, classes: ['*'] },
        ],
      },
      /the same name/,
    ],
  ])('with %s is refused in a line', (name, content, wanted) => {
    const env = { SEARCHFLOW_RATE_PROFILE: file(`${name}.json`, content) };
    expect(() => readConfig({ env, flags: {}, cwd: dir, say: () => undefined })).toThrow(wanted);
  });

  it('is set like a profile name, and its problems are reported with all other mistakes', () => {
    file('ours.json', { name: 'ours', buckets: [{ name: 'all', qps: 40, classes: ['*'] }] });
    const read = (rateProfile: string) =>
      readConfig({
        env: {},
        flags: { rateProfile, concurrency: rateProfile === 'ours.json' ? '9' : 'x' },
        cwd: dir,
        say: () => undefined,
      });
    expect(contentsQps(read('ours.json').rate)).toBe(40);
    expect(() => read('none.json')).toThrow(/--rate-profile: 'none.json'.*cannot be read[\s\S]*--concurrency/);
    expect(() => read('quick')).toThrow(/contract, boost, public or a .json file/);
  });
});
