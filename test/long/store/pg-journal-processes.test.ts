import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PgJournal } from '../../../src/store/postgres/journal/pg-journal.js';
import { connectStore } from '../../../src/store/postgres/schema/store-schema.js';
import { folderOfFile } from '../../support/files/folders.js';
import { keyOf } from '../../support/store/journal-contract.js';
import { processesOf } from '../../support/store/store-processes.js';

const root = folderOfFile();
const { server, start } = processesOf('pg-buyer.mjs');

interface Options {
  readonly deadAfterMs?: number;
  /** The step at which the process sends a signal to itself. */
  readonly at?: { readonly step: string; readonly nth: number; readonly signal: 'SIGKILL' | 'SIGSTOP' };
}

/** Units that several processes buy, five in each request, and a journal that reads the result. */
async function market(count: number) {
  const url = await server().database();
  const bill = join(root, url.slice(url.lastIndexOf('/') + 1));
  const keys = Array.from({ length: count }, (_, index) => keyOf(index + 1));
  const requests = (): string[][] =>
    existsSync(bill)
      ? readFileSync(bill, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' '))
      : [];
  return {
    url,
    requests,
    buyer(options: Options = {}, first = 0) {
      // Each process starts at another unit, so that two processes want the same unit.
      const turned = [...keys.slice(first), ...keys.slice(0, first)];
      const child = start({ url, bill, keys: turned, perRequest: 5, ...options });
      const said: string[] = [];
      const lines = createInterface({ input: child.stdout });
      lines.on('line', (line) => said.push(line));
      let errors = '';
      child.stderr.on('data', (data: Buffer) => {
        errors += data.toString();
      });
      const ended = new Promise<void>((resolve, reject) => {
        child.on('close', (code, signal) => {
          if (code === 0 || signal === 'SIGKILL') resolve();
          else reject(new Error(`the buyer ended with ${code ?? signal}: ${errors}`));
        });
      });
      ended.catch(() => undefined);
      const says = (what: string) =>
        new Promise<void>((resolve) => {
          if (said.includes(what)) return resolve();
          lines.on('line', (line) => line === what && resolve());
        });
      return { child, said, ended, says };
    },
    /** The keys that were sent more than once. Fails if a key was never sent. */
    extra(): string[] {
      const sent = new Map<string, number>();
      for (const key of requests().flat()) sent.set(key, (sent.get(key) ?? 0) + 1);
      expect([...sent.keys()].sort()).toEqual(keys);
      return [...sent].filter(([, times]) => times > 1).map(([key]) => key);
    },
    /** The totals of the journal at the end, when all units must have landed. */
    async totals() {
      const postgres = await connectStore(url, { applicationName: 'judge' });
      const journal = await PgJournal.open(postgres, { team: 'team' });
      try {
        expect(await journal.lookup(keys)).toHaveLength(keys.length);
        const [line] = await journal.usage('job');
        return { ...(await journal.totals('job/')), usage: line };
      } finally {
        await journal.close();
        await postgres.close();
      }
    },
  };
}

describe('processes that share a journal', () => {
  it('take over from one that is killed at any step, and list its possible purchases (24)', async () => {
    const steps = [
      { step: 'claimed', nth: 1, lost: 0, extra: 0 },
      { step: 'intended', nth: 2, lost: 3, extra: 0 },
      { step: 'sent', nth: 3, lost: 3, extra: 15 },
      { step: 'landed', nth: 3, lost: 0, extra: 0 },
      { step: 'landed', nth: 4, lost: 2, extra: 10 },
    ];
    await Promise.all(
      steps.map(async ({ step, nth, ...most }) => {
        const { buyer, extra, totals } = await market(40);
        const victim = buyer({ deadAfterMs: 1000, at: { step, nth, signal: 'SIGKILL' } });
        await victim.says('now');
        const successor = buyer({ deadAfterMs: 1000 });
        await Promise.all([victim.ended, successor.ended]);
        const { unknown, costMicros, openMicros, usage } = await totals();
        const listed = unknown.flatMap((outcome) => outcome.keys);
        for (const key of extra()) expect(listed).toContain(key);
        expect(extra().length).toBeLessThanOrEqual(most.extra);
        expect(unknown.length).toBeLessThanOrEqual(most.lost);
        expect(costMicros).toBe(40_000);
        expect({ openMicros, unknown: usage?.unknownMicros }).toEqual({ openMicros: 0, unknown: listed.length * 1000 });
        expect(usage).toMatchObject({ landedMicros: 40_000, openMicros: 0, unknownOutcomes: unknown.length });
      }),
    );
  });

  it('lose nothing and buy nothing twice while the database is killed and its connections are cut (39, 40)', async () => {
    const { url, buyer, extra, totals, requests } = await market(1500);
    const buyers = [0, 500, 1000].map((first) => buyer({}, first));
    const judge = await connectStore(url, { applicationName: 'judge' });
    for (let round = 1; round <= 6; round++) {
      while (requests().length < round * 40) await delay(5);
      if (round % 2 === 0) {
        await judge.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'buyer'`);
        continue;
      }
      await server().kill();
      await server().start();
    }
    await judge.close();
    await Promise.all(buyers.map(({ ended }) => ended));
    expect(extra()).toEqual([]);
    expect(await totals()).toMatchObject({ requests: 300, unitsLanded: 1500, costMicros: 1_500_000, unknown: [] });
  });
});
