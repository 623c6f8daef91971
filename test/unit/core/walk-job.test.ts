import fc from 'fast-check';
import { expect, it } from 'vitest';
import { walkCommand } from '../../../src/cli/events/events-status.js';
import { inputOfStream, lengthOf, streamOf, verifies, type WalkInput } from '../../../src/core/events/walk-job.js';

const moment = fc.integer({ min: 0, max: 4_000_000 }).map((minutes) => new Date(minutes * 60_000).toISOString());
const types = fc.option(
  fc.uniqueArray(fc.constantFrom('webset.idle', 'webset.created', 'webset.item.created'), { minLength: 1 }),
  { nil: undefined },
);

it('the input of a stream is the one that the stream is named after, and so is its command', () => {
  const inputs = fc.oneof(
    types.map((of) => ({ kind: 'sync', types: of }) as WalkInput),
    fc
      .record({ from: moment, until: fc.option(moment, { nil: undefined }), verify: fc.boolean(), types })
      .map(({ verify, ...rest }) => ({ kind: 'backfill', ...(verify ? { verify } : {}), ...rest }) as WalkInput),
  );
  fc.assert(
    fc.property(inputs, (input) => {
      const known = JSON.parse(JSON.stringify(input)) as WalkInput;
      const stream = streamOf(input);
      expect(inputOfStream(stream)).toEqual(
        known.types ? { ...known, types: [...known.types].sort(), unchecked: true } : known,
      );
      const verifying = known.kind === 'backfill' && known.verify === true;
      expect(verifies({ stream })).toBe(verifying);
      const flags =
        known.kind === 'sync' ? [] : ['--from', known.from, ...(known.until ? ['--until', known.until] : [])];
      expect(walkCommand(stream, 'x.duckdb')).toEqual([
        ...['events', verifying ? 'verify' : known.kind, ...flags],
        ...[...(known.types ?? [])].sort().flatMap((type) => ['--type', type]),
        ...['--into', 'x.duckdb'],
      ]);
    }),
  );
  expect(walkCommand('backfill ..2025-01-01T00:00:00.000Z', null)).toBeNull();
  expect(streamOf({ kind: 'backfill', from: '2025-01-01' })).toBe('backfill 2025-01-01T00:00:00.000Z..');
  expect([lengthOf({ from: null, to: 9 }), lengthOf({ from: 4, to: 9 })]).toEqual([0, 5]);
});
