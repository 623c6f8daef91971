import { expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { fingerprint, otherLimitsText, teamOf } from '../../../src/worker/store/team.js';

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
