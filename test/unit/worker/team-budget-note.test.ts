import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import { teamBudgetNote } from '../../../src/worker/staging/team-budget-note.js';
import { intent } from '../../support/store/journal-contract.js';

const dir = mkdtempSync(join(tmpdir(), 'searchflow-note-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('a plan reports if the team’s budget leaves less than the job may cost, by the tighter of day and month', async () => {
  const journal = await FileJournal.open(dir, { writes: true, team: 'team' });
  expect(await teamBudgetNote(journal, 1e9)).toBeNull();
  await journal.intend(intent('a', [1, 2]));
  await journal.setCaps({ dayMicros: 500_000, monthMicros: 9_000_000 });
  expect(await teamBudgetNote(journal, 498_000)).toBeNull();
  expect(await teamBudgetNote(journal, 498_001)).toBe(
    "The job will pause at $0.498, the rest of the team's budget of $0.50 for this day.",
  );
  await journal.setCaps({ dayMicros: null, monthMicros: 1000 });
  expect(await teamBudgetNote(journal, 1)).toBe(
    "The job will pause at $0.00, the rest of the team's budget of $0.001 for this month.",
  );
  await journal.close();
});
