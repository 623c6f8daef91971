import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import { folderOfFile } from '../../support/files/folders.js';
import { begun, intent, keyOf, outcome } from '../../support/store/journal-contract.js';

const root = folderOfFile();
let count = 0;
const newDir = () => join(root, String(++count));
const LINES = 'job/gen/000000.journal';
const UNITS = 'job/gen/000000.units.jsonl';

/**
 * Writes a segment with a line of each kind. Units 1 to 4 have landed, 5 is unknown, 6 was never sent, 7 was given up, and 8 is a run at
 * the service.
 */
async function segmentOfAllKinds(dir: string): Promise<void> {
  const journal = await FileJournal.open(dir, { writes: true });
  const buy = async (numbers: number[]) => {
    await journal.claim(numbers.map(keyOf), 'a');
    return journal.intend(intent('a', numbers));
  };
  const land = async (numbers: number[]) =>
    journal.land(await buy(numbers), {
      requestId: `request ${numbers.join(' ')}`,
      fetchedAt: Date.now(),
      units: numbers.map((number) => outcome(number, { costMicros: 1000 })),
    });
  await land([1, 2]);
  await land([3]);
  await journal.miss(await buy([5]), 'connection reset', 'maybe');
  await journal.miss(await buy([6]), 'held back', 'never');
  await journal.claim([keyOf(7)], 'a');
  await journal.recordOutcomes('a', 'job/gen/000000', 'contents', [
    outcome(7, { status: 'error', errorTag: 'UNKNOWN_OUTCOME', costMicros: 0, result: null }),
  ]);
  await journal.note(await buy([8]), 'a', { run: 'run-8' });
  await land([4]);
  await journal.close();
}

const landedKeys = [1, 2, 3, 4, 7].map(keyOf);

async function expectAllLanded(journal: FileJournal): Promise<void> {
  const { landed, mine } = await journal.claim(landedKeys, 'b');
  expect(mine).toEqual([]);
  expect(landed.map(({ key }) => key)).toEqual(landedKeys);
  const records = await journal.read(landedKeys);
  for (const number of [1, 2, 3, 4]) expect(records.get(keyOf(number))?.result).toEqual(outcome(number).result);
  expect(await journal.totals('job/')).toMatchObject({ unitsLanded: 5, costMicros: 4000 });
}

const copies = (dir: string) => readdirSync(join(dir, 'job/gen')).filter((name) => name.includes('.damaged-'));

describe('a flipped bit in the journal', () => {
  it('loses no landed answer, at any line and position, and is reported once, with a copy', async () => {
    const whole = newDir();
    await segmentOfAllKinds(whole);
    const [lines, units] = [readFileSync(join(whole, LINES)), readFileSync(join(whole, UNITS))];
    const dir = newDir();
    await segmentOfAllKinds(dir);
    // The step divides the length of no line, so each line is damaged at different positions.
    for (let at = 3; at < lines.length; at += 37) {
      for (const old of copies(dir)) rmSync(join(dir, 'job/gen', old));
      const damaged = Buffer.from(lines);
      damaged[at] = (damaged[at] as number) ^ (1 << (at % 7));
      writeFileSync(join(dir, LINES), damaged);
      writeFileSync(join(dir, UNITS), units);
      const reader = await FileJournal.open(dir, { writes: false, alone: true });
      await expectAllLanded(reader);
      expect(readFileSync(join(dir, LINES)).equals(damaged)).toBe(true);
      const writer = await FileJournal.open(dir, { writes: true });
      await expectAllLanded(writer);
      await writer.close();
      const [report] = writer.damage;
      expect(report).toMatchObject({ file: join(dir, LINES), lines: 1, gone: 0 });
      expect(readFileSync(report?.copy as string).equals(damaged)).toBe(true);
      const again = await FileJournal.open(dir, { writes: true });
      expect(again.damage).toEqual([]);
      await expectAllLanded(again);
      await again.close();
    }
  });

  it('does not stop later purchases from being appended', async () => {
    const dir = newDir();
    await segmentOfAllKinds(dir);
    flip(dir, LINES, '"t":"answer"', 40, -1);
    const journal = await FileJournal.open(dir, { writes: true });
    const id = await begun(journal, 'b', [9]);
    await journal.land(id, { requestId: 'r', fetchedAt: Date.now(), units: [outcome(9, { costMicros: 0 })] });
    await journal.close();
    const again = await FileJournal.open(dir, { writes: true });
    expect((await again.read([4, 9].map(keyOf))).size).toBe(2);
    await again.close();
  });

  it('that destroys the line and the body of an answer allows another purchase only on request', async () => {
    const dir = newDir();
    await segmentOfAllKinds(dir);
    flip(dir, LINES, '"t":"answer"', 40, -1);
    flip(dir, UNITS, `"${keyOf(4)}"`, -1);
    for (const writes of [true, true]) {
      const journal = await FileJournal.open(dir, { writes });
      expect((await journal.claim([keyOf(4)], 'b')).mine).toEqual([]);
      await expect(journal.read([keyOf(4)])).rejects.toThrow(/--rebuy/);
      expect(await journal.lookup([keyOf(4)], { rebuyBefore: Date.now() + 1 })).toEqual([]);
      expect((await journal.claim([keyOf(4)], 'c', { rebuyBefore: Date.now() + 1 })).mine).toHaveLength(1);
      await journal.close();
    }
    expect(copies(dir).some((name) => name.endsWith('.units'))).toBe(true);
    expect(existsSync(join(dir, `${LINES}.mended`))).toBe(false);
  });

  it('does not cause a second new purchase, however often a rebuy is requested', async () => {
    const dir = newDir();
    await segmentOfAllKinds(dir);
    flip(dir, LINES, '"t":"answer"', 40, -1);
    flip(dir, UNITS, `"${keyOf(4)}"`, -1);
    const journal = await FileJournal.open(dir, { writes: true });
    expect((await journal.claim([keyOf(4)], 'b', { rebuyBefore: Date.now() + 1 })).mine).toHaveLength(1);
    const id = await journal.intend(intent('b', [4]));
    await journal.land(id, { requestId: 'r', fetchedAt: Date.now(), units: [outcome(4, { costMicros: 1000 })] });
    const report = { rebuyBefore: Date.now() + 60_000 };
    expect((await journal.claim([keyOf(4)], 'c', report)).mine).toEqual([]);
    await journal.close();
    const again = await FileJournal.open(dir, { writes: true });
    expect((await again.claim([keyOf(4)], 'd', report)).mine).toEqual([]);
    expect((await again.read([keyOf(4)])).get(keyOf(4))?.request_id).toBe('r');
    await again.close();
  });
});

describe.each<[string, (dir: string) => void, number[]]>([
  ['a body with a flipped bit', (dir) => flip(dir, UNITS, keyOf(3), 5, -1), [3]],
  ['a lost file of bodies', (dir) => rmSync(join(dir, UNITS)), [1, 2, 3, 4, 7]],
  ['a shortened file of bodies', (dir) => truncateSync(join(dir, UNITS), 40), [1, 2, 3, 4, 7]],
])('%s', (_, damage, gone) => {
  it('is bought again only on request, by any process, and is then loaded whole', async () => {
    const dir = newDir();
    await segmentOfAllKinds(dir);
    damage(dir);
    const before = await FileJournal.open(dir, { writes: true });
    expect((await before.claim(landedKeys, 'b')).mine).toEqual([]);
    await expect(before.unitFiles('job/gen/000000', landedKeys, join(dir, 'scratch'))).rejects.toThrow(/--rebuy/);
    await before.close();

    const journal = await FileJournal.open(dir, { writes: true });
    const rebuy = { rebuyBefore: Date.now() + 60_000 };
    await journal.verify(landedKeys);
    expect(await journal.lookup(landedKeys, rebuy)).toHaveLength(landedKeys.length - gone.length);
    await journal.close();
    const buyer = await FileJournal.open(dir, { writes: true });
    const { mine } = await buyer.claim(landedKeys, 'c', rebuy);
    expect(mine.map(({ key }) => key)).toEqual(gone.map(keyOf));
    const id = await buyer.intend(intent('c', gone));
    const units = gone.map((number) => outcome(number, { costMicros: 1000 }));
    await buyer.land(id, { requestId: 'r', fetchedAt: Date.now(), units });
    const files = await buyer.unitFiles('job/gen/000000', landedKeys, join(dir, 'scratch'));
    const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean));
    expect(new Set(lines.map((line) => (JSON.parse(line) as { key: string }).key))).toEqual(new Set(landedKeys));
    await buyer.close();
  });
});

/** Flips a bit `offset` bytes after the first occurrence of a text, or after the last one if `which` is negative. */
function flip(dir: string, file: string, text: string, offset: number, which = 0): void {
  const data = readFileSync(join(dir, file));
  const at = (which < 0 ? data.lastIndexOf(text) : data.indexOf(text)) + offset;
  data[at] = (data[at] as number) ^ 1;
  writeFileSync(join(dir, file), data);
}
