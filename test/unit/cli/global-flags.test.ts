import { expect, it } from 'vitest';
import { plan } from '../../support/cli/fake-runtime.js';
import { folderWithRows } from '../../support/cli/folder-with-rows.js';
import { typeCommand } from '../../support/cli/type-command.js';

const cwd = folderWithRows();

const typeOnTerminal = (line: string, changes = {}) => typeCommand(cwd, line, changes, {}, true);
const dear = { plan: async () => ({ ...plan, estimateMicros: 20_000_000, notes: ['a note'] }) };

it.each([
  ['enrich in.csv --no-input', dear],
  ['--no-input enrich in.csv', dear],
  ['enrich in.csv --every 1d --no-input', {}],
  ['agent run why --effort max --no-input', {}],
  ['start --live --no-input', {}],
])('%s does not ask on a terminal: it buys nothing, and ends with 2', async (line, changes) => {
  const { code, refusal, calls } = await typeOnTerminal(line, changes);
  expect(refusal).toMatch(/, and --no-input is set\.[\s\S]*Pass --yes to confirm/);
  expect(code).toBe(2);
  expect(calls).not.toContain('start');
});

it.each(['monitors delete mon_1 --no-input', 'monitors --no-input delete --name old'])(
  '%s is refused in the same way',
  async (line) => {
    const { code, refusal, config } = await typeOnTerminal(line);
    expect(refusal).toMatch(/Deleting is permanent and --no-input is set\. Pass --yes/);
    expect([code, config]).toEqual([2, undefined]);
  },
);

it('--no-input accepts a purchase with a cap, as a command without a terminal does', async () => {
  const capped = { plan: async () => ({ ...(await dear.plan()), request: { ...plan.request, maxCostDollars: 30 } }) };
  const { code, calls } = await typeOnTerminal('enrich in.csv --no-input --max-cost 30', capped);
  expect(code).toBe(0);
  expect(calls).toContain('start');
});

it('--quiet leaves out announcements, notes and progress, and keeps the result and errors', async () => {
  const loud = await typeOnTerminal('enrich in.csv --yes', dear);
  expect(loud.err).toMatch(/brands: 200 rows, 200 URLs to buy[\s\S]*Note: a note[\s\S]*Done: 200 rows of brands/);
  for (const line of ['enrich in.csv --yes --quiet', '--quiet enrich in.csv --yes']) {
    const quiet = await typeOnTerminal(line, dear);
    expect(quiet.err).toMatch(/^Done: 200 rows of brands/);
    expect(quiet.code).toBe(0);
  }
  expect(await typeOnTerminal('jobs --quiet')).toMatchObject({ code: 0, out: '', err: '' });
  expect((await typeOnTerminal('limits set --quiet')).refusal).toContain('Pass --per-day');
});
