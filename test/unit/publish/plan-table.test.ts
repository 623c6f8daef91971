import { describe, expect, it } from 'vitest';
import {
  dataPath,
  isDataPath,
  type ManifestTable,
  partitionOf,
  publishId,
} from '../../../src/warehouse/publish/manifest.js';
import { planTable } from '../../../src/warehouse/publish/publish-files.js';
import { columnChange } from '../../../src/warehouse/publish/publish-sql.js';
import { contentOf, type StagedTable, sides } from '../../../src/warehouse/publish/stage-tables.js';

const columns = [
  { name: 'id', type: 'BIGINT' },
  { name: 'name', type: 'VARCHAR' },
];
const staged: StagedTable = {
  ...{ name: 'brands', columns, exact: columns, rows: 1 },
  files: [{ path: '/drafts/0-0.parquet', rows: 1, bytes: 9, sha256: 'aa' }],
};
const file = (name: string, rows: number, partition: string | null = null) => ({
  ...{ path: name, rows, partition, bytes: 1, sha256: name, run: 'r', publish: 'p' },
});
const before: ManifestTable = {
  name: 'brands',
  source: 'job brands-1',
  columns,
  rows: 5,
  partitionBy: null,
  files: [file('a', 5), file('b', 0)],
  ...{ publish: 'p', at: '', run: 'r', mode: 'append', key: [], content: 'c' },
};
const at = { shown: '/lake', source: 'job brands-1' };
const append = { mode: 'append', partition: null } as const;

describe('the plan of a table', () => {
  it('keeps no file of a new or replaced table, and drops empty files', () => {
    const none = { kept: [], merges: false, added: [] };
    expect(planTable(undefined, staged, append, null, at)).toEqual(none);
    expect(planTable(before, staged, { ...append, mode: 'replace' }, null, at)).toEqual(none);
    expect(planTable(before, staged, append, null, at)).toEqual({ ...none, kept: [file('a', 5)] });
    expect(planTable(before, staged, { ...append, mode: 'merge' }, null, at).merges).toBe(true);
  });

  it('of a partition keeps the files of the other partitions', () => {
    const files = [file('a', 1, 'day=2026-11-22'), file('b', 1, 'day=2026-11-23')];
    const byDay: ManifestTable = { ...before, partitionBy: 'day', files };
    const today = 'day=2026-11-23';
    const replace = { mode: 'replace', partition: 'day' } as const;
    expect(planTable(byDay, staged, replace, today, at).kept).toEqual([files[0]]);
    expect(planTable(byDay, staged, { ...replace, partition: null }, null, at).kept).toEqual([]);
    expect(() => planTable(byDay, staged, append, null, at)).toThrow('is partitioned by day: pass --partition day');
    expect(() => planTable(before, staged, { ...append, partition: 'run' }, today, at)).toThrow('has no partitions');
  });

  it('accepts added columns, and refuses another source and columns that are gone or have other types', () => {
    expect(() => planTable(before, staged, append, null, { ...at, source: 'events' })).toThrow(
      'The table brands in /lake has the rows of job brands-1, not of events: name another target',
    );
    const other = { ...staged, columns: [{ name: 'id', type: 'VARCHAR' }] };
    expect(() => planTable(before, other, append, null, at)).toThrow('(name is gone, id is BIGINT, now VARCHAR)');
    const more = { name: 'score', type: 'DOUBLE' };
    const wider = { ...staged, columns: [more, ...columns] };
    expect(planTable(before, wider, append, null, at).added).toEqual([more]);
    const gone = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, type: 'BIGINT' }));
    const change = (mode: 'merge' | 'replace') =>
      columnChange({ source: at.source, columns: gone }, staged, { ...at, mode });
    expect(() => change('merge')).toThrow('(a is gone, b is gone, c is gone and 4 more)');
    expect(change('replace')).toEqual({ other: true, added: columns });
    const reversed = { source: at.source, columns: [...columns].reverse() };
    expect(columnChange(reversed, staged, { ...at, mode: 'merge' })).toEqual({ other: false, added: [] });
  });

  it('knows equal rows by their columns and files', () => {
    expect(contentOf({ columns, files: staged.files })).toBe(contentOf(staged));
    expect(contentOf({ ...staged, columns: [] })).not.toBe(contentOf(staged));
    expect(contentOf({ ...staged, files: [] })).not.toBe(contentOf(staged));
  });
});

describe('the path of a data file', () => {
  const id = publishId(Date.parse('2026-11-23T01:02:03.456Z'), '89abcdef');

  it('has the table, the partition and the id of the publish, and is known as ours', () => {
    expect(dataPath('brands', null, id, 3)).toBe('brands/20261123T010203Z-89abcdef-00003.parquet');
    const record = { at: '2026-11-23T01:02:03.456Z', run: 'run/../1' };
    expect(partitionOf('run', record)).toBe('run=run_.._1');
    const path = dataPath('../Ünï', partitionOf('day', record), id, 0);
    expect(path).toMatch(/^table-[0-9a-f]{16}\/day=2026-11-23\/20261123T010203Z-89abcdef-00000\.parquet$/);
    expect(isDataPath(path)).toBe(true);
  });

  it.each([
    'mine.parquet',
    'brands/mine.parquet',
    '../brands/20261123T010203Z-89abcdef-00003.parquet',
    'brands/../20261123T010203Z-89abcdef-00003.parquet',
    'brands/x=1/20261123T010203Z-89abcdef-00003.parquet',
    '/brands/20261123T010203Z-89abcdef-00003.parquet',
  ])('is not %s', (path) => {
    expect(isDataPath(path)).toBe(false);
  });
});

it('the sides of a merge have names that no column has', () => {
  const named = (...names: string[]) => sides(names.map((name) => ({ name, type: 'VARCHAR' }) as never));
  expect(named('id', 'name')).toEqual({ old: 'old', fresh: 'new' });
  expect(named('Old', 'new_')).toEqual({ old: 'old__', fresh: 'new__' });
});
