import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FileJournal, type FileJournalOptions } from '../../../src/store/file/file-journal.js';
import { damageText } from '../../../src/store/file/mend-segment.js';
import { folderOfFile } from '../../support/files/folders.js';
import { historyContract } from '../../support/store/history-contract.js';
import { begun, intent, journalContract, keyOf, outcome } from '../../support/store/journal-contract.js';
import { spendContract } from '../../support/store/spend-contract.js';

const root = folderOfFile();
const open: FileJournal[] = [];
afterAll(async () => {
  for (const journal of open) await journal.close();
});
async function openJournal(dir: string, options: Partial<FileJournalOptions> = {}): Promise<FileJournal> {
  const journal = await FileJournal.open(dir, { writes: true, ...options });
  open.push(journal);
  return journal;
}
let count = 0;
const newDir = () => join(root, String(++count));

journalContract('FileJournal', async () => {
  const dir = newDir();
  return {
    journal: await openJournal(dir),
    // The old journal is not closed, as after the kill of a process.
    reopen: () => openJournal(dir),
    scratch: join(root, `scratch-${++count}.jsonl`),
  };
});

spendContract('FileJournal', async () => {
  const dir = newDir();
  return {
    journal: await openJournal(dir, { team: 'team' }),
    reopen: (team = 'team') => openJournal(dir, { team }),
  };
});

historyContract('FileJournal', async () => {
  const dir = newDir();
  return { journal: await openJournal(dir), reopen: () => openJournal(dir) };
});

const LINES = 'job/gen/000000.journal';
const UNITS = 'job/gen/000000.units.jsonl';

async function bought(dir: string, numbers: number[][]): Promise<void> {
  const journal = await openJournal(dir);
  for (const group of numbers) {
    await journal.claim(group.map(keyOf), 'a');
    const id = await journal.intend(intent('a', group));
    await journal.land(id, { requestId: null, fetchedAt: 1, units: group.map((number) => outcome(number)) });
  }
  await journal.close();
}

describe('the file journal', () => {
  it('ignores a torn tail at any byte, and appends after it', async () => {
    const dir = newDir();
    await bought(dir, [[1], [2]]);
    const whole = readFileSync(join(dir, LINES));
    const units = readFileSync(join(dir, UNITS));
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let cut = lastLine; cut < whole.length; cut += 7) {
      writeFileSync(join(dir, LINES), whole.subarray(0, cut));
      // The write of the last body was interrupted, too.
      writeFileSync(join(dir, UNITS), units.subarray(0, units.length - 1 - ((cut - lastLine) % 40)));
      const journal = await openJournal(dir);
      const claim = await journal.claim([keyOf(1), keyOf(2)], 'b');
      expect(claim.landed.map((unit) => unit.key)).toEqual([keyOf(1)]);
      expect(claim.mine).toMatchObject([{ key: keyOf(2), unknowns: 1 }]);
      const id = await journal.intend(intent('b', [2]));
      await journal.land(id, { requestId: null, fetchedAt: 2, units: [outcome(2)] });
      await journal.close();
      const again = await openJournal(dir);
      expect((await again.read([keyOf(1), keyOf(2)])).size).toBe(2);
      const lines = readFileSync(join(dir, UNITS), 'utf8').trim().split('\n');
      for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    }
  });

  it('completes an answer whose bodies are whole and whose line is torn at any byte, without a word', async () => {
    const dir = newDir();
    await bought(dir, [[1], [2, 3]]);
    const whole = readFileSync(join(dir, LINES));
    const units = readFileSync(join(dir, UNITS));
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let cut = lastLine; cut < whole.length; cut += 7) {
      writeFileSync(join(dir, LINES), whole.subarray(0, cut));
      writeFileSync(join(dir, UNITS), Buffer.concat([units, Buffer.from('{"key":"half')]));
      const reader = await FileJournal.open(dir, { writes: false });
      expect((await reader.lookup([2, 3].map(keyOf))).length).toBe(0);
      for (const writes of [false, true, true]) {
        const journal = await FileJournal.open(dir, { writes, alone: true });
        expect(journal.damage).toEqual([]);
        expect((await journal.claim([1, 2, 3].map(keyOf), 'b')).mine).toEqual([]);
        expect((await journal.read([2, 3].map(keyOf))).size).toBe(2);
        expect(await journal.totals('job/')).toMatchObject({ unitsLanded: 3, requests: 2, unknown: [] });
        await journal.close();
      }
    }
  });

  it('leaves an answer with a missing body to an unknown outcome, which later bodies do not change', async () => {
    const dir = newDir();
    await bought(dir, [[1], [2, 3]]);
    const whole = readFileSync(join(dir, LINES));
    const units = readFileSync(join(dir, UNITS));
    writeFileSync(join(dir, LINES), whole.subarray(0, whole.lastIndexOf(10, whole.length - 2) + 1));
    const torn = units.subarray(0, units.lastIndexOf(10, units.length - 2) + 1);
    writeFileSync(join(dir, UNITS), torn);
    const first = await openJournal(dir);
    expect((await first.claim([2, 3].map(keyOf), 'b')).mine).toMatchObject([{ unknowns: 1 }, { unknowns: 1 }]);
    await first.close();
    // An older version may have left the body of unit 2 at the end.
    writeFileSync(join(dir, UNITS), torn);
    const again = await openJournal(dir);
    expect(again.damage).toEqual([]);
    expect((await again.claim([keyOf(2)], 'c')).mine).toHaveLength(1);
    await again.close();
  });

  it.each([
    ['cut in the middle', (lines: Buffer) => lines.subarray(0, lines.indexOf(10) + 5)],
    ['replaced by a text', () => Buffer.from('garbage')],
    ['empty', () => Buffer.alloc(0)],
  ])('recovers the answers of a file that is %s, with a message and a copy', async (_how, change) => {
    const dir = newDir();
    await bought(dir, [[1], [2, 3], [4]]);
    const left = change(readFileSync(join(dir, LINES)));
    writeFileSync(join(dir, LINES), left);
    const journal = await openJournal(dir);
    expect((await journal.claim([1, 2, 3, 4].map(keyOf), 'b')).mine).toEqual([]);
    const [damage] = journal.damage;
    expect(damage && damageText(damage)).toMatch(/has lost its last lines\. \d paid answer\(s\) were recovered/);
    expect(readFileSync(damage?.copy as string).equals(left)).toBe(true);
    await journal.close();
    const again = await openJournal(dir);
    expect(again.damage).toEqual([]);
    expect((await again.read([1, 2, 3, 4].map(keyOf))).size).toBe(4);
    await again.close();
  });

  it('makes its files readable only by their owner', async () => {
    const dir = newDir();
    await bought(dir, [[1]]);
    for (const file of [LINES, UNITS]) expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  });

  it('reads beside a writer without counting its calls in flight as lost', async () => {
    const dir = newDir();
    const writer = await openJournal(dir);
    await begun(writer, 'a', [1]);
    const reader = await FileJournal.open(dir, { writes: false });
    expect(await reader.totals('')).toMatchObject({ unknown: [], openMicros: 1000 });
  });

  it('fails an append that cannot be written, and continues when it can', async () => {
    const dir = newDir();
    writeFileSync(join(root, 'not-a-folder'), '');
    const journal = await openJournal(join(root, 'not-a-folder', 'x'));
    await expect(journal.intend(intent('a', [1]))).rejects.toThrow();
    await bought(dir, [[1]]);
    expect(existsSync(join(dir, LINES))).toBe(true);
  });

  it('has more segments than open files', async () => {
    const dir = newDir();
    const journal = await openJournal(dir);
    for (let round = 0; round < 2; round++) {
      for (let segment = 0; segment < 40; segment++) {
        const number = round * 100 + segment;
        await journal.claim([keyOf(number)], 'a');
        const id = await journal.intend(intent('a', [number], `job/gen/${segment}`));
        await journal.land(id, { requestId: null, fetchedAt: 1, units: [outcome(number)] });
      }
    }
    await journal.close();
    const again = await openJournal(dir);
    expect(await again.totals('job/')).toMatchObject({ requests: 80, unknown: [] });
    expect((await again.read([keyOf(139), keyOf(0)])).size).toBe(2);
  });
});

it('intents of a dead process are unknown outcomes for later readers, too', async () => {
  const dir = newDir();
  const dead = await openJournal(dir);
  await dead.intend(intent('a', [1]));
  const alone = await FileJournal.open(dir, { writes: false, alone: true });
  expect((await alone.totals('')).unknown).toHaveLength(1);
  const next = await openJournal(dir);
  expect((await next.totals('')).unknown).toHaveLength(1);
  const reader = await FileJournal.open(dir, { writes: false });
  expect((await reader.totals('')).unknown).toMatchObject([
    { keys: [keyOf(1)], reason: 'the process ended before an answer landed' },
  ]);
  expect((await (await openJournal(dir)).totals('')).unknown).toHaveLength(1);
});

describe('pruning', () => {
  it('keeps the bodies of a segment whose purchase still runs at the service, also after a restart', async () => {
    const dir = newDir();
    const first = await openJournal(dir);
    await first.claim([keyOf(1), keyOf(2)], 'a');
    await first.land(await first.intend(intent('a', [1])), { requestId: null, fetchedAt: 1, units: [outcome(1)] });
    await first.note(await first.intend(intent('a', [2])), 'a', { run: 'run 1' });
    await first.close();
    const journal = await openJournal(dir);
    expect(await journal.prunableBytes('job/', Date.now() + 60_000)).toBe(0);
    expect(await journal.prune('job/', Date.now() + 60_000)).toBe(0);
    expect((await journal.read([keyOf(1)])).size).toBe(1);
  });

  it('is not assumed for bodies that cannot be read: they are not bought again', async () => {
    const dir = newDir();
    await bought(dir, [[1]]);
    const journal = await openJournal(dir);
    rmSync(join(dir, 'job/gen'), { recursive: true });
    writeFileSync(join(dir, 'job/gen'), 'no folder');
    await expect(journal.read([keyOf(1)])).rejects.toMatchObject({ code: 'ENOTDIR' });
    const rebuy = { rebuyBefore: Date.now() + 1 };
    await expect(journal.claim([keyOf(1)], 'b', rebuy)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect((await journal.claim([keyOf(1)], 'b')).landed).toHaveLength(1);
  });

  it('starts a new day and month at midnight UTC, and counts an answer for the day of its request', async () => {
    const dir = newDir();
    let now = Date.UTC(2026, 10, 30, 23, 59, 59);
    const journal = await openJournal(dir, { team: 'team', now: () => now });
    await journal.setCaps({ dayMicros: 1000, monthMicros: 2000 });
    const asked = await journal.intend(intent('a', [1]));
    const refused = journal.intend(intent('a', [2]));
    await expect(refused).rejects.toMatchObject({ scope: 'day', resetsAt: Date.UTC(2026, 11, 1) });
    now += 2000;
    await journal.intend(intent('a', [2]));
    await journal.land(asked, { requestId: null, fetchedAt: now, units: [outcome(1)] });
    expect(await journal.usage('day')).toMatchObject([
      { group: '2026-11-30', landedMicros: 1000, openMicros: 0 },
      { group: '2026-12-01', landedMicros: 0, openMicros: 1000 },
    ]);
    now = Date.UTC(2026, 11, 2);
    await journal.intend(intent('a', [3]));
    now = Date.UTC(2026, 11, 3);
    await expect(journal.intend(intent('a', [4]))).rejects.toMatchObject({
      scope: 'month',
      resetsAt: Date.UTC(2027, 0, 1),
    });
  });

  it('respects caps that another process sets, protects their file, and spends nothing if it is damaged', async () => {
    const dir = newDir();
    const journal = await openJournal(dir, { team: 'team' });
    const other = await FileJournal.open(dir, { writes: false, team: 'team' });
    await journal.intend(intent('a', [1]));
    await other.setCaps({ dayMicros: 1500, monthMicros: null });
    await expect(journal.intend(intent('a', [2]))).rejects.toMatchObject({ scope: 'day', remainingMicros: 500 });
    const file = join(dir, 'caps.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, '{"team":{"dayMicros":"much"}}');
    await expect(journal.intend(intent('a', [2]))).rejects.toThrow(/damaged: .*caps\.json/);
    rmSync(file);
    await journal.intend(intent('a', [2]));
  });

  it('counts nothing against a cap for an intent that could not be written', async () => {
    const dir = newDir();
    const journal = await openJournal(dir, { team: 'team' });
    await journal.setCaps({ dayMicros: 1500, monthMicros: null });
    mkdirSync(join(dir, LINES), { recursive: true });
    await expect(journal.intend(intent('a', [1]))).rejects.toThrow();
    expect((await journal.spent()).day).toMatchObject({ openMicros: 0, unknownMicros: 0 });
    await journal.intend(intent('a', [1], 'job/gen/000001'));
  });

  it('counts an answer whose intent is unreadable, and ignores lines from before there were teams', async () => {
    const dir = newDir();
    await bought(dir, [[1], [2]]);
    const data = readFileSync(join(dir, LINES));
    data[40] = (data[40] as number) ^ 1;
    writeFileSync(join(dir, LINES), data);
    const journal = await openJournal(dir);
    expect(await journal.usage('operation')).toMatchObject([
      { group: 'contents', requests: 1, landedMicros: 1000 },
      { group: 'unknown', requests: 1, landedMicros: 1000 },
    ]);
    expect(await (await openJournal(dir, { team: 'team' })).usage('job')).toEqual([]);
  });
});
