import { afterEach, expect, test } from 'vitest';
import { type FaultDo, type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { get } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';
import { readStream } from '../../support/sandbox/stream.js';

let sandbox: Sandbox;
const start = async (action: FaultDo) => {
  sandbox = await startSandbox({ agentRuns: { durationMs: 0 }, faults: [{ when: {}, do: action }] });
};
afterEach(() => sandbox.close());

const answer = { query: 'größe 東京', stream: true };
const read = () => readStream(sandbox, '/answer', { body: answer });

test('a stream is cut after a number of events, before the first one, and before the last one', async () => {
  await start({ kind: 'cut-stream', events: 3 });
  expect(await read()).toMatchObject({ ended: 'cut', events: { length: 3 } });
  sandbox.setFaults([{ when: {}, do: { kind: 'cut-stream', events: 0 } }]);
  expect(await read()).toMatchObject({ ended: 'cut', events: [] });
  sandbox.setFaults([{ when: {}, do: { kind: 'cut-stream', events: -1 } }]);
  const { events, ended } = await read();
  expect(ended).toBe('cut');
  expect(events.at(-1)?.data).toContain('costDollars');
  expect(sandbox.bill().dollars).toBe(0.015);
  expect(sandbox.log()[0]).toMatchObject({ status: 200, units: 1, fault: 'cut-stream' });
});

test('a stream may be reset while it is read, or end as if it were complete', async () => {
  await start({ kind: 'cut-stream', events: 2, how: 'clean' });
  expect(await read()).toMatchObject({ ended: 'whole', events: { length: 2 } });
  sandbox.setFaults([{ when: {}, do: { kind: 'cut-stream', events: 2, how: 'reset' } }]);
  expect((await read()).ended).toBe('cut');
});

test('frames come twice, in the wrong order, between unknown ones, after a huge one', async () => {
  await start({ kind: 'frames', change: 'duplicate' });
  const path = '/agent/runs';
  const ids = async () => (await readStream(sandbox, path, { body: { query: 'q' } })).events.map(({ id }) => id);
  expect((await ids()).slice(0, 4)).toEqual(['1', '1', '2', '2']);
  sandbox.setFaults([{ when: {}, do: { kind: 'frames', change: 'reorder' } }]);
  expect((await ids()).slice(0, 4)).toEqual(['2', '1', '4', '3']);
  sandbox.setFaults([{ when: {}, do: { kind: 'frames', change: 'unknown' } }]);
  expect((await read()).events[0]).toMatchObject({ event: 'sandbox.novelty' });
  sandbox.setFaults([{ when: {}, do: { kind: 'frames', change: 'huge', bytes: 100_000 } }]);
  expect((await read()).events[0]?.data.length).toBeGreaterThan(100_000);
});

test('a stream is silent for a time, or sends only comments', async () => {
  await start({ kind: 'silent-stream', events: 1, ms: 120, comments: true });
  const from = performance.now();
  const { bytes, ended, events } = await read();
  expect(performance.now() - from).toBeGreaterThan(115);
  expect([ended, events.at(-1)?.data]).toEqual(['whole', '[DONE]']);
  expect(bytes.toString().split(': keep-alive').length).toBeGreaterThan(3);
  sandbox.setFaults([{ when: {}, do: { kind: 'silent-stream', ms: 1e12 } }]);
  const endless = read();
  await eventually(() => sandbox.log().length).toBe(2);
  await sandbox.close();
  expect((await endless).ended).toBe('cut');
});

test('faults of bodies fit streams, and faults of streams leave bodies alone', async () => {
  await start({ kind: 'truncate', bytes: 150 });
  expect(await read()).toMatchObject({ ended: 'cut', bytes: { length: 150 } });
  sandbox.setFaults([{ when: {}, do: { kind: 'stall', moment: 'body', ms: 60 } }]);
  const from = performance.now();
  expect((await read()).ended).toBe('whole');
  expect(performance.now() - from).toBeGreaterThan(55);
  sandbox.setFaults([{ when: {}, do: { kind: 'cut-stream' } }]);
  expect((await get(sandbox, '/agent/runs')).status).toBe(200);
});

test('a fault applies by method, and by a path with open segments', async () => {
  await start({ kind: 'drip' });
  sandbox.setFaults([{ when: { method: 'GET', path: '/agent/runs/*' }, do: { kind: 'status', status: 503 } }]);
  expect((await get(sandbox, '/agent/runs/agent_run_1')).status).toBe(503);
  expect((await get(sandbox, '/agent/runs')).status).toBe(200);
  expect((await get(sandbox, '/agent/runs/agent_run_1/events')).status).toBe(404);
});
