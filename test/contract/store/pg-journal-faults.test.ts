import { afterAll, describe, expect, it } from 'vitest';
import type { Postgres } from '../../../src/postgres/index.js';
import { PgJournal } from '../../../src/store/postgres/journal/pg-journal.js';
import { connectStore } from '../../../src/store/postgres/schema/store-schema.js';
import { ofFile } from '../../support/of-file.js';
import { sharedPostgres } from '../../support/postgres.js';
import { begun, intent, keyOf, outcome } from '../../support/store/journal-contract.js';
import { startProxy } from '../../support/warehouse/pg-proxy.js';

const server = sharedPostgres();
const proxy = ofFile(() => startProxy(server.port));
const opened: { readonly postgres: Postgres; readonly journal: PgJournal }[] = [];
afterAll(async () => {
  for (const { journal } of opened) await journal.close();
  for (const { postgres } of opened) await postgres.close();
});

async function open(url: string) {
  const postgres = await connectStore(url, { applicationName: 'journal', patienceMs: 20_000 });
  // With this limit no heartbeat is due during a test.
  const journal = await PgJournal.open(postgres, { team: 'team', deadAfterMs: 3_600_000 });
  opened.push({ postgres, journal });
  return { postgres, journal };
}

const answer = (numbers: number[]) => ({
  requestId: 'req',
  fetchedAt: 1000,
  units: numbers.map((number) => outcome(number)),
});

describe.each(['request', 'answer'] as const)('a connection that loses the %s (39)', (what) => {
  async function cutting() {
    const { journal } = await open(proxy.urlOf(await server.database()));
    const losing = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      const cut = proxy.lose(`.${name}(`, what);
      const [result] = await Promise.all([work(), cut]);
      return result;
    };
    return { journal, losing };
  }

  it('neither doubles nor loses a claim', async () => {
    const { journal, losing } = await cutting();
    const claim = await losing('claim', () => journal.claim([keyOf(1), keyOf(2)], 'a'));
    expect(claim.mine).toHaveLength(2);
    expect((await journal.claim([keyOf(1)], 'b')).theirs).toEqual([keyOf(1)]);
    await losing('release', () => journal.release('a'));
    expect((await journal.claim([keyOf(1)], 'b')).mine).toHaveLength(1);
  });

  it('counts no intent and no answer twice', async () => {
    const { journal, losing } = await cutting();
    await journal.claim([keyOf(1), keyOf(2)], 'a');
    const cap = { bookPrefix: 'job/', limitMicros: 2000 };
    const id = await losing('intend', () => journal.intend({ ...intent('a', [1, 2]), cap }));
    expect((await journal.spent()).day.openMicros).toBe(2000);
    await losing('land', () => journal.land(id, answer([1, 2])));
    expect(await journal.totals('job/')).toMatchObject({
      requests: 1,
      unitsLanded: 2,
      costMicros: 2000,
      openMicros: 0,
    });
    expect((await journal.spent()).day).toMatchObject({ landedMicros: 2000, openMicros: 0 });
  });

  it('counts no note twice', async () => {
    const { journal, losing } = await cutting();
    const id = await begun(journal, 'a', [1]);
    await journal.miss(id, 'connection reset', 'maybe');
    await losing('note', () => journal.note(id, 'a', { run: 'r' }));
    expect((await journal.spent()).day).toMatchObject({ openMicros: 1000, unknownMicros: 0 });
    await journal.release('a');
    expect((await journal.claim([keyOf(1)], 'b')).mine).toMatchObject([{ unknowns: 0, started: { intentId: id } }]);
  });

  it('counts no missed answer and no recorded unit twice', async () => {
    const { journal, losing } = await cutting();
    await journal.claim([1, 2, 3].map(keyOf), 'a');
    const lost = await journal.intend(intent('a', [1]));
    await losing('miss', () => journal.miss(lost, 'connection reset', 'maybe'));
    const unsent = await journal.intend(intent('a', [2]));
    await losing('miss', () => journal.miss(unsent, 'held back', 'never'));
    await losing('settle', () => journal.recordOutcomes('a', 'job/g/0', 'contents', [outcome(3, { costMicros: 0 })]));
    const totals = await journal.totals('job/');
    expect(totals).toMatchObject({ requests: 0, unitsLanded: 1, openMicros: 0, unknown: [{ keys: [keyOf(1)] }] });
    expect((await journal.spent()).day).toMatchObject({ unknownMicros: 1000, openMicros: 0 });
    await journal.release('a');
    expect((await journal.claim([keyOf(1), keyOf(3)], 'b')).mine).toMatchObject([{ key: keyOf(1), unknowns: 1 }]);
  });
});

describe('the shared journal', () => {
  it('repeats after a rollback: deadlock, serialization failure, lock wait, statement timeout (41)', async () => {
    const { postgres, journal } = await open(await server.database());
    const id = await begun(journal, 'a', [1, 2]);
    // A rollback does not reset a sequence, so it counts the writes: the first four fail, the fifth succeeds.
    await postgres.query('CREATE SEQUENCE public.failures');
    await postgres.query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE codes text[] := ARRAY['40P01', '40001', '55P03', '57014']; nth integer := nextval('public.failures');
      BEGIN
        IF nth <= 4 THEN RAISE EXCEPTION 'rolled back' USING ERRCODE = codes[nth]; END IF;
        RETURN NEW;
      END $$`);
    await postgres.query('CREATE TRIGGER fail BEFORE INSERT ON searchflow_store.spend EXECUTE FUNCTION fail()');
    await journal.land(id, answer([1, 2]));
    expect(await journal.totals('job/')).toMatchObject({ requests: 1, unitsLanded: 2, costMicros: 2000 });
    expect((await journal.spent()).day).toMatchObject({ landedMicros: 2000, openMicros: 0 });
  });

  it('waits while the database is read-only, until it can write again (40)', async () => {
    const url = await server.database();
    const name = new URL(url).pathname.slice(1);
    const { journal } = await open(url);
    const admin = await connectStore(await server.database(), { applicationName: 'admin' });
    const turn = async (readOnly: boolean) => {
      await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    };
    const id = await begun(journal, 'a', [1]);
    await turn(true);
    let landed = false;
    const landing = journal.land(id, answer([1])).then(() => {
      landed = true;
    });
    expect(await journal.lookup([keyOf(1)])).toEqual([]);
    expect(landed).toBe(false);
    await turn(false);
    await landing;
    expect(await journal.lookup([keyOf(1)])).toHaveLength(1);
    await admin.close();
  });

  it('is woken by other processes, also after its connections were cut', async () => {
    const url = await server.database();
    const [one, other] = [await open(url), await open(url)];
    await one.journal.claim([keyOf(1)], 'a');
    const waiting = other.journal.waitForAny([keyOf(1)]);
    await one.journal.release('a');
    await waiting;
    await one.journal.claim([keyOf(1)], 'a');
    const again = other.journal.waitForAny([keyOf(1)]);
    await one.postgres.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await one.journal.release('a');
    await again;
  });

  it('lets no two processes exceed a cap together', async () => {
    const url = await server.database();
    const journals = (await Promise.all([open(url), open(url)])).map(({ journal }) => journal);
    // Until three answers have shown the price, at most two requests may be in flight.
    for (let number = 100; number < 103; number++) {
      const [journal] = journals as [PgJournal];
      await journal.claim([keyOf(number)], 'a');
      await journal.land(await journal.intend(intent('a', [number])), answer([number]));
    }
    const cap = { bookPrefix: 'job/', limitMicros: 13_000 };
    const asked = await Promise.allSettled(
      Array.from({ length: 40 }, async (_, index) => {
        const journal = journals[index % 2] as PgJournal;
        await journal.claim([keyOf(index)], `owner-${index}`);
        return journal.intend({ ...intent(`owner-${index}`, [index]), cap });
      }),
    );
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect((await journals[0]!.totals('job/')).openMicros).toBe(10_000);
  });

  it('refuses a database that is not safe, in a sentence without its password', async () => {
    const url = await server.database();
    const admin = await connectStore(await server.database(), { applicationName: 'admin' });
    await admin.query(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`,
    );
    await admin.close();
    await expect(connectStore(url, { applicationName: 'test' })).rejects.toThrow(
      /^The store postgres:\/\/127.0.0.1:\d+\/\w+ has default_transaction_isolation = serializable\. Set it to read committed$/,
    );
  });
});
