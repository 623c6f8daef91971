import { hostname } from 'node:os';
import { type Client, ServiceError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { deferred } from '../../../src/core/processes/deferred.js';
import { identityOf, recordId } from '../../../src/worker/store/team.js';
import { Pollers, workerOn } from '../../../src/worker/temporal-server/pollers.js';

const refusal = (code: number) =>
  new ServiceError('refused', { cause: Object.assign(new Error(), { code, details: '', metadata: {} }) });

interface Listed {
  readonly identity: string;
  /** Age of the last poll in ms. */
  readonly age: number;
}

/** A Temporal server that answers with each of these lists, the last one again and again. */
function server(...answers: (readonly Listed[] | Error)[]) {
  const asked = { count: 0 };
  const now = Date.now();
  const client = {
    options: { namespace: 'ns' },
    withDeadline: (_: number, work: () => unknown) => work(),
    workflowService: {
      listTaskQueuePartitions: async () => ({}),
      describeTaskQueue: async () => {
        const answer = answers[Math.min(asked.count++, answers.length - 1)] as readonly Listed[] | Error;
        if (answer instanceof Error) throw answer;
        return {
          pollers: answer.map(({ identity, age }) => {
            const ms = now - age;
            const seconds = Math.floor(ms / 1000);
            return { identity, lastAccessTime: { seconds, nanos: (ms % 1000) * 1e6 } };
          }),
        };
      },
    },
  };
  return { client: client as unknown as Client, asked };
}

const config = { stateDir: '/data/a', store: null, taskQueue: 'rows' };
const mine = (age = 0) => ({ identity: identityOf(recordId(config)), age });
const poller = (own: string, age: number, record = '0123456789ab') => ({ identity: identityOf(record, own), age });
const open = () => {
  const said: string[] = [];
  return { said, pollers: new Pollers({ ...config, say: (sentence) => void said.push(sentence) }) };
};
/** A worker that runs until it is shut down. */
function worker() {
  const ended = deferred<void>();
  return { getState: () => 'RUNNING' as const, shutdown: () => ended.resolve(), run: () => ended.promise };
}

it('the id of a record is that of its folder on its machine, or of its database without its login', () => {
  const store = (url: string, shown: string) => ({ store: { url: url as never, shown }, stateDir: '/x' });
  expect(recordId(config)).toMatch(/^[0-9a-f]{12}$/);
  expect(recordId({ ...config, stateDir: '/data/b' })).not.toBe(recordId(config));
  const one = recordId(store('postgres://u:secret@h/d', 'postgres://h:5432/d'));
  expect(recordId({ ...store('postgres://h/d', 'postgres://h:5432/d'), stateDir: '/y' })).toBe(one);
  expect(recordId(store('postgres://h/d', 'postgres://h:5432/other'))).not.toBe(one);
});

it.each([
  ['a worker of another record', poller('7@elsewhere', 30_000), true],
  ['a worker with the identity of its owner', poller('etl worker', 0), true],
  ['a worker of another record whose last poll is older than 70 s', poller('7@elsewhere', 71_000), false],
  ['a worker on this machine whose process has ended', poller(`${2 ** 22 + 1}@${hostname()}`, 0), false],
  ['a worker on this machine whose process runs', poller(`${process.ppid}@${hostname()}`, 0), true],
  ['a worker of the same record', mine(), false],
  ['a worker without a record', { identity: '7@elsewhere', age: 0 }, false],
])('%s: %j: the second worker is refused: %s', async (_, listed, isRefused) => {
  const { client } = server([listed]);
  const error = await open()
    .pollers.check(client)
    .catch((thrown: Error) => thrown.message);
  const name = listed.identity.split(' searchflow:')[0];
  expect(error).toEqual(
    isRefused
      ? expect.stringMatching(
          new RegExp(`^Another worker \\(${name}\\) polls the task queue rows .*SEARCHFLOW_STORE.*in \\d+ s\\.$`),
        )
      : undefined,
  );
  const found = await workerOn(client, 'rows');
  expect(found?.record ?? null).toBe(
    isRefused ? '0123456789ab' : listed.identity === mine().identity ? recordId(config) : null,
  );
});

it('a worker without a record on the queue is named once, and is not refused', async () => {
  const { client } = server([{ identity: '7@elsewhere', age: 0 }]);
  const { pollers, said } = open();
  await pollers.check(client);
  await pollers.check(client);
  expect(said).toEqual([expect.stringMatching(/^Another worker \(7@elsewhere\) .* without a record/)]);
});

it('a worker runs activities once its own polls were listed without those of another record', async () => {
  const { client, asked } = server([mine(9000)], [mine(9000)], [mine(0)], [mine(0)]);
  const { pollers, said } = open();
  await pollers.check(client);
  const it = worker();
  const running = pollers.run(it, it.run);
  await pollers.admitted;
  expect(asked.count).toBe(4);
  it.shutdown();
  await running;
  expect(said).toEqual([]);
});

it('of two workers that start at the same time, one that sees the other runs no activity, and ends with the reason', async () => {
  // The clock of this machine is two minutes ahead of that of the server.
  const { client } = server([], [mine(120_000), poller('7@elsewhere', 121_000)]);
  const { pollers, said } = open();
  await pollers.check(client);
  const it = worker();
  const running = pollers.run(it, it.run);
  const reason = /^Another worker \(7@elsewhere\)/;
  await expect(pollers.admitted).rejects.toThrow(reason);
  await expect(running).rejects.toThrow(reason);
  expect(said).toEqual([expect.stringMatching(reason)]);
});

it('a worker that may not list pollers says so once, and runs', async () => {
  const { client, asked } = server(refusal(7));
  const { pollers, said } = open();
  await pollers.check(client);
  const it = worker();
  const running = pollers.run(it, it.run);
  await pollers.admitted;
  it.shutdown();
  await running;
  expect([asked.count, said]).toEqual([
    1,
    [expect.stringMatching(/^Temporal does not list the pollers of the task queue rows/)],
  ]);
});

it('a list that fails is reported once and asked for again; without a first list no worker starts', async () => {
  const { client } = server([], refusal(14), refusal(14), [mine(0)]);
  const { pollers, said } = open();
  await pollers.check(client);
  const it = worker();
  const running = pollers.run(it, it.run);
  await pollers.admitted;
  it.shutdown();
  await running;
  expect(said).toEqual([expect.stringContaining('failed, and is repeated')]);
  await expect(open().pollers.check(server(refusal(14)).client)).rejects.toThrow('refused');
});
