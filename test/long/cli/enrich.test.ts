import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
const header = 'name,site';
const row = (number: number) => `Site ${number},https://example.com/page/${number}`;
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => row(from + index));
const write = (name: string, lines: readonly string[]) => writeFileSync(join(cwd, name), `${lines.join('\n')}\n`);

/** Number of purchases of each unit, from the purchase log of the sandbox that the command started. */
function timesBought(): Map<string, number> {
  const times = new Map<string, number>();
  const lines = readFileSync(join(cwd, '.searchflow/sandbox/ledger.jsonl'), 'utf8').trim().split('\n');
  for (const line of lines) {
    const { units = [] } = JSON.parse(line) as { units?: readonly string[] };
    for (const unit of units) times.set(unit, (times.get(unit) ?? 0) + 1);
  }
  return times;
}

beforeAll(async () => {
  // 230 rows: 200 distinct URLs, 20 of which occur twice, and 10 bad rows.
  write('sites.csv', [
    header,
    ...rows(0, 200),
    ...rows(0, 20),
    ...Array.from({ length: 10 }, (_, index) => `Bad ${index},not a url`),
  ]);
  write('slow.csv', [header, ...rows(1000, 1200)]);
});

const enrichSites = 'enrich sites.csv --url-column site --csv out/sites.csv --batch 20 --qps 20'.split(' ');

describe('searchflow enrich, without a key', () => {
  it('enriches on its sandbox, and its dollars equal the bill of the sandbox', async () => {
    const { code, out, err } = await runCommand([...enrichSites, '--json'], { cwd });
    expect(err).toContain('the sandbox');
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('\u001b') });
    const summary = JSON.parse(out) as {
      warehouse: Record<string, number>;
      totalCostDollars: number;
      sandboxBill: { dollars: number };
      requests: number;
      retried: { units: number };
    };
    expect(summary).toMatchObject({ warehouse: { rows: 230, invalid: 10, missing: 0 } });
    // Ten requests, and further ones only for the failures that are tried once more.
    expect(summary.retried.units).toBeGreaterThan(0);
    expect(summary.requests).toBeGreaterThan(10);
    expect(summary.requests).toBeLessThanOrEqual(10 + summary.retried.units);
    expect(summary.sandboxBill.dollars).toBe(summary.totalCostDollars);
    expect(Math.max(...timesBought().values())).toBe(1);
    expect(readFileSync(join(cwd, 'out/sites.csv'), 'utf8').split('\n')[0]).toContain('status');
    expect(existsSync(join(cwd, 'out/sites.duckdb'))).toBe(true);
  });

  it('stops at Ctrl-C with 130 and continues with the command it prints, buying nothing twice (fault 25)', async () => {
    const args = ['enrich', 'slow.csv', '--url-column', 'site', '--batch', '4', '--qps', '10'];
    const running = startCommand(args, { cwd });
    await running.says(/\([1-9]\d?%\)/);
    running.child.kill('SIGINT');
    expect(await running.ended).toBe(130);
    expect(running.err()).toContain('To resume:\n  searchflow enrich slow.csv --url-column site --batch 4 --qps 10');
    const bought = timesBought().size;
    const { code, err } = await runCommand(args, { cwd });
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('Done: 200 rows') });
    expect(timesBought().size).toBeGreaterThan(bought);
    expect(Math.max(...timesBought().values())).toBe(1);
  });
});
