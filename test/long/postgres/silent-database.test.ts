import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it, type TestContext } from 'vitest';
import { openPostgres, parseAddress } from '../../../src/postgres/index.js';
import { sent, startCluster } from '../../support/jobs/cluster.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { ofFile } from '../../support/of-file.js';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.mjs';
import { temporalOfFile } from '../../support/temporal.js';
import { type PgProxy, startProxy } from '../../support/warehouse/pg-proxy.js';

/** The longest wait until a message names the reason. */
const REPORTED_WITHIN_MS = 10_000;

/** Sends a signal to the server and its backends. The kernel still accepts connections to a stopped server, which sends nothing. */
function signalAll(server: PostgresServer, signal: NodeJS.Signals): void {
  const parent = server.pid();
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === parent);
  process.kill(parent, signal);
  for (const pid of children.map(Number)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // A backend may end by itself after it was listed and before it gets the signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}

const temporal = temporalOfFile();
const server = ofFile(startPostgres);

/** A database of its own on this server, behind a proxy. */
async function openProxy({ onTestFinished }: TestContext, { port } = server): Promise<PgProxy> {
  const proxy = await startProxy(port);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Opens a database behind a proxy. `reported` waits for a message about the database; it returns the time that passed since `since`. */
async function open(context: TestContext, max = 4, on = server) {
  const proxy = await openProxy(context, on);
  const said: { readonly at: number; readonly text: string }[] = [];
  const address = parseAddress(proxy.urlOf(await on.database()), 'searchflow_store');
  const say = (text: string) => said.push({ at: performance.now(), text });
  const postgres = await openPostgres(address, { applicationName: 'test', max, say });
  await postgres.query('CREATE TABLE public.t (n int)');
  const reported = async (since: number): Promise<number> => {
    while (said.length === 0) await delay(50);
    return (said[0]?.at ?? 0) - since;
  };
  return { postgres, proxy, said, reported };
}

describe.concurrent('a job', () => {
  it('[60] whose store and warehouse are stopped for 40 s reports it within 10 s and continues; nothing is doubled or lost', async ({
    expect,
    onTestFinished,
  }) => {
    const rows = plainRows(240);
    const cluster = await startCluster(temporal, {
      rows,
      sandbox: { latencyMs: 150 },
      env: { SEARCHFLOW_CONCURRENCY: '4' },
    });
    onTestFinished(() => cluster.close());
    const { folder, sandbox, postgres, warehouse } = cluster;
    cluster.start('b', ['worker']);
    const args = ['enrich', folder.input, '--into', warehouse, '--csv', folder.csv, '--batch', '10'];
    const command = cluster.start('a', args);
    await sent(cluster, 8, command);
    signalAll(postgres, 'SIGSTOP');
    const since = performance.now();
    await command.says(/Waiting for the database/);
    expect(performance.now() - since).toBeLessThan(REPORTED_WITHIN_MS + 1000);
    await delay(40_000 - (performance.now() - since));
    signalAll(postgres, 'SIGCONT');
    expect([await command.ended, command.err()]).toEqual([0, expect.stringContaining('is back')]);
    const loaded = await cluster.query<{ row_number: number; status: string }>(
      'SELECT row_number::int, status FROM enriched_rows ORDER BY row_number',
    );
    expect(loaded).toEqual(rows.map((_, index) => ({ row_number: index + 1, status: 'success' })));
    expect(boughtAgain(sandbox)).toEqual({});
  });
});

describe.concurrent('a database that accepts connections and does not answer', () => {
  it('[60] behind a silent network is reported within 10 s, and used again over new connections', async (context) => {
    const { expect } = context;
    const { postgres, proxy, said, reported } = await open(context);
    proxy.silent = true;
    const since = performance.now();
    const inserted = postgres.transaction((tx) => tx.query('INSERT INTO public.t VALUES (1)'));
    expect(await reported(since)).toBeLessThan(REPORTED_WITHIN_MS);
    expect(said[0]?.text).toMatch(
      /^Waiting for the database postgres:\/\/127\.0\.0\.1:\d+\/\w+: no (answer for \d s|connection in time)/,
    );
    proxy.silent = false;
    await inserted;
    expect(said.at(-1)?.text).toMatch(/ is back$/);
    expect(await postgres.query('SELECT n FROM public.t')).toEqual([{ n: 1 }]);
    await postgres.close();
  });

  it('[60] delays the end of a process by 2 s at most, and a server that answers may end its statement', async (context) => {
    const { expect } = context;
    const { postgres } = await open(context);
    const slow = postgres.query('SELECT pg_sleep(3)');
    await delay(200);
    const closed = postgres.close();
    expect(await Promise.race([slow.then(() => 'answered'), closed.then(() => 'closed')])).toBe('answered');
    await closed;
    const { postgres: silent, proxy } = await open(context);
    proxy.silent = true;
    const pending = [silent.query('SELECT 1'), silent.transaction((tx) => tx.query('SELECT 1'))];
    const failed = Promise.allSettled(pending);
    await delay(200);
    const since = performance.now();
    await silent.close();
    expect(performance.now() - since).toBeLessThan(3500);
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  }, 30_000);

  it('[60] in the middle of a COPY or a long statement is reported within 10 s, and the transaction runs again', async (context) => {
    const { expect } = context;
    const { postgres, proxy, said, reported } = await open(context);
    let runs = 0;
    const since = performance.now();
    await postgres.transaction(async (tx) => {
      await tx.query('INSERT INTO public.t VALUES (2)');
      if (++runs > 1) return;
      const sleeping = tx.query('SELECT pg_sleep(600)');
      proxy.silent = true;
      void reported(since).then(() => {
        proxy.silent = false;
      });
      await sleeping;
    });
    expect((said[0]?.at ?? 0) - since).toBeLessThan(REPORTED_WITHIN_MS + 1000);
    expect(await postgres.query('SELECT n FROM public.t')).toEqual([{ n: 2 }]);
    await postgres.close();
  });

  it('a stopped backend ends a statement at its limit, and another one takes it', async (context) => {
    const { expect, onTestFinished } = context;
    const { postgres } = await open(context, 1);
    const [backend] = await postgres.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(backend?.pid ?? 0, 'SIGSTOP');
    onTestFinished(() => void process.kill(backend?.pid ?? 0, 'SIGCONT'));
    const answer = await postgres.query<{ pid: number }>('SELECT pg_backend_pid() AS pid', [], { statementMs: 3000 });
    expect(answer[0]?.pid).not.toBe(backend?.pid);
    await postgres.close();
  });

  it('is left at once when the work is cancelled, and closing does not wait for it', async (context) => {
    const { expect } = context;
    const { postgres, proxy } = await open(context);
    const gaveUp = new AbortController();
    const sleeping = postgres.query('SELECT pg_sleep(600)', [], { signal: gaveUp.signal });
    await postgres.query('SELECT 1');
    proxy.silent = true;
    gaveUp.abort(new Error('given up'));
    await expect(sleeping).rejects.toThrow('given up');
    await postgres.close();
    proxy.silent = false;
  });

  it('is distinguished from one that runs a long statement, which is reported as such', async (context) => {
    const { expect } = context;
    const { postgres, said } = await open(context);
    await postgres.query('SELECT pg_sleep(12)');
    expect(said.map(({ text }) => text)).toEqual([expect.stringMatching(/: a statement has taken \d+ s$/)]);
    said.length = 0;
    await postgres.transaction(async (tx) => {
      await tx.query('LOCK TABLE public.t');
      const waiting = postgres.query('INSERT INTO public.t VALUES (4)');
      while (said.length === 0) await delay(50);
      await tx.query('SELECT 1');
      return { waiting };
    });
    expect(said.map(({ text }) => text)).toEqual([expect.stringMatching(/another session holds a lock$/)]);
    await postgres.close();
  });
});
