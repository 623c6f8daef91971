import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RecordedFolder, storesOf } from '../../support/upgrade/recorded.js';

it.each(storesOf('duckdb'))(
  'fault 30: the folder %s of an earlier version opens with its jobs, costs, rows and answers',
  async (store) => {
    const folder = new RecordedFolder(store);
    const { recorded, dir } = folder;
    const at = (path: string) => join(dir, path);
    const { jobs, usage } = await folder.state();
    expect(jobs.length).toBe(recorded.jobs.length);
    for (const { job, rows, phase, dollars } of recorded.jobs.filter((line) => line.phase !== null))
      expect(jobs).toContainEqual(expect.objectContaining({ job, rows, phase, dollars }));
    expect(usage).toEqual(recorded.usage);
    // This is another job, so its answers can be found only by the keys of the units.
    const half = usage.lines.find(({ job }) => job.startsWith('half-'))?.units as number;
    const plan = ['--url-column', 'url', '--into', at('out/other.duckdb'), '--dry-run', '--json'];
    expect(JSON.parse(await folder.runHere('enrich', at('half.csv'), ...plan))).toMatchObject({
      alreadyBought: half,
      toBuy: 60 - half,
    });
    await folder.runHere('export', 'done', '--csv', at('out/again.csv'));
    expect(readFileSync(at('out/again.csv'), 'utf8')).toBe(readFileSync(at('out/done.csv'), 'utf8'));
  },
);
