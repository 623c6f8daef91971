import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LastUse } from '../../../src/worker/team/limit-owner.js';
import { folderOfTest } from '../../support/files/folders.js';

describe('the last use of a limit', () => {
  let path: string;
  let now = 0;
  beforeEach(() => {
    const dir = folderOfTest();
    path = join(dir, 'limit.last.json');
    now = 1_800_000_000_000;
    vi.spyOn(Date, 'now').mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
  });

  it('is none if the limit has no file', () => {
    expect(new LastUse(path).justNow()).toBeNull();
  });

  it('lasts until it is ended, and for one and a half seconds after its end', () => {
    const use = new LastUse(path);
    use.begin();
    now += 86_400_000;
    expect(new LastUse(path).justNow()).toBe('me');
    use.end();
    now += 1500;
    expect(new LastUse(path).justNow()).toBe('me');
    now += 1;
    expect(new LastUse(path).justNow()).toBeNull();
  });

  it('of a process that was killed counts, however old it is; so does a time in the future', () => {
    for (const last of ['{"pid":1,"startTime":"1"}', '', `{"pid":1,"startTime":"1"}\n${now + 60_000}`, 'x\nsoon']) {
      writeFileSync(path, last);
      expect(new LastUse(path).justNow()).toBe('another');
    }
  });

  it('counts as of another process if the file cannot be read', () => {
    expect(new LastUse(join(path, '..')).justNow()).toBe('another');
  });
});
