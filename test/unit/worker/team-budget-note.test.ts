import { expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import { teamBudgetNote } from '../../../src/worker/staging/plan-notes.js';
import { fingerprint, otherLimitsText, teamOf } from '../../../src/worker/team/team.js';
import { folderOfFile } from '../../support/files/folders.js';
import { intent } from '../../support/store/journal-contract.js';

const dir = folderOfFile();

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

it('keys share a limit and a budget if they have the same team name, service by service', () => {
  const [a, b] = [new Secret('key-a'), new Secret('key-b')];
  const origin = 'https://service.example';
  expect(teamOf({ origin, team: 'growth', apiKey: a })).toBe(teamOf({ origin, team: 'growth', apiKey: b }));
  const others = [
    { origin, apiKey: a },
    { origin, apiKey: b },
    { origin, apiKey: null },
    { origin, team: 'growth', apiKey: a },
    { origin: 'https://other.example', team: 'growth', apiKey: a },
    { origin: 'sandbox', team: 'growth', apiKey: a },
  ];
  expect(new Set(others.map(teamOf)).size).toBe(others.length);
  expect(teamOf({ origin: 'sandbox', team: 'growth', apiKey: a })).toBe(teamOf({ origin: 'sandbox', apiKey: b }));
  expect(fingerprint(a)).toMatch(/^[0-9a-f]{16}$/);
  expect(otherLimitsText([])).toBeNull();
  expect(otherLimitsText([{ host: 'a', pid: 1 }])).toContain('(PID 1 on a)');
});
