import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readMonitorBatch } from '../../../src/api/endpoints/monitor-batch.js';
import type { Deprecation } from '../../../src/api/wire/deprecations.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { answer, clientOf, type Handler, json } from '../../support/api/raw-server.js';

describe('the secret of a new monitor', () => {
  const record = { id: 'mon_1', status: 'active', webhookSecret: 'whsec-canary', later: 1 };

  test('is in the answer, and is never printed', async () => {
    const { client } = await clientOf((_request, socket) => socket.write(json(201, record)));
    const made = await client.createMonitor({ search: { query: 'q' } });
    expect(made.data.webhookSecret).toBeInstanceOf(Secret);
    expect(made.data.webhookSecret?.reveal()).toBe('whsec-canary');
    expect(made.data).toMatchObject({ id: 'mon_1', later: 1 });
    for (const text of [
      inspect(made, { depth: 9, showHidden: true }),
      JSON.stringify(made),
      `${made.data.webhookSecret}`,
    ]) {
      expect(text).not.toContain('canary');
      expect(text).toContain('[redacted]');
    }
  });

  test('is not kept if the answer has the wrong shape or is truncated', async () => {
    const wrong = json(201, { ...record, id: 7 });
    const cut = json(201, record, { 'content-length': '999' });
    for (const bytes of [wrong, cut, answer(201, '{"webhookSecret":"whsec-canary"')]) {
      const { client } = await clientOf((_request, socket) => {
        socket.write(bytes);
        socket.destroySoon();
      });
      const error: unknown = await client.createMonitor({ search: { query: 'q' } }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(ApiError);
      expect(`${(error as ApiError).body}${inspect(error, { depth: 9 })}`).not.toContain('canary');
    }
  });
});

test('the secret of a monitor is never printed, at any place in an answer', async () => {
  const created = { id: 'm', webhookSecret: 'canary-1', webhook: { webhookSecret: 'canary-2' } };
  const { client } = await clientOf((_request, socket) => socket.write(json(200, { ...created, data: [created] })));
  for (const { data } of [
    await client.getMonitor({ id: 'm' }),
    await client.listMonitors({}),
    await client.batchMonitors({ action: 'pause', filter: { name: 'x' } }),
    await client.deleteMonitor({ id: 'm' }),
  ]) {
    for (const text of [inspect(data, { depth: 9, showHidden: true }), JSON.stringify(data)]) {
      expect(text).toContain('[redacted]');
      expect(text).not.toContain('canary');
    }
  }
});

describe('a batch of monitors', () => {
  const none = { ids: null, affected: null, dryRun: null, hasMore: null };
  test.each([
    [
      { ids: ['a', 'b'], affected: 2, dry_run: true, has_more: true },
      { ids: ['a', 'b'], affected: 2, dryRun: true, hasMore: true },
    ],
    [
      { data: [{ id: 'a' }], dryRun: false, hasMore: false },
      { ids: ['a'], affected: 1, dryRun: false, hasMore: false },
    ],
    [{ monitors: [{ id: 'a' }, {}] }, { ...none, ids: ['a'], affected: 1 }],
    [{ affected: 0 }, { ...none, affected: 0 }],
    [{ affected: ['a'] }, { ...none, ids: ['a'], affected: 1 }],
    [
      { affected: [{ id: 'a' }, 'b'], count: 2 },
      { ...none, ids: ['a', 'b'], affected: 2 },
    ],
    [
      { ids: [], affected_count: 3 },
      { ...none, ids: [], affected: 3 },
    ],
    [{ monitor_ids: ['a'] }, { ...none, ids: ['a'], affected: 1 }],
    [
      { items: [{ id: 'a' }], affectedCount: 1 },
      { ...none, ids: ['a'], affected: 1 },
    ],
    [{}, none],
  ])('answered %j is read', async (body, result) => {
    const { client } = await clientOf((_request, socket) => socket.write(json(200, body)));
    const { data } = await client.batchMonitors({ action: 'pause', filter: { status: 'active' } });
    expect(readMonitorBatch(data)).toEqual(result);
  });
});

test('a deletion may answer with nothing', async () => {
  for (const bytes of [answer(200, ''), Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')]) {
    const { client } = await clientOf((_request, socket) => socket.write(bytes));
    expect((await client.deleteAgentRun({ id: 'agent_run_1' })).data).toEqual({});
    expect((await client.deleteMonitor({ id: 'mon_1' })).data).toEqual({});
  }
});

describe('a deprecated operation or field', () => {
  const results: Handler = (request, socket) =>
    socket.write(json(200, { results: [] }, request.path === '/findSimilar' ? { deprecation: '@1767225600' } : {}));

  test('is reported once, to callers that asked for warnings', async () => {
    const warnings: Deprecation[] = [];
    const { client } = await clientOf(results, { warn: (warning) => warnings.push(warning) });
    for (let time = 0; time < 3; time++) {
      await client.findSimilar({ url: 'https://a.example' });
      await client.getContents({ ids: ['x'] });
      await client.getContents({ urls: ['https://a.example'] });
      await client.search({ query: 'q' });
    }
    expect(warnings).toEqual([
      {
        operation: 'findSimilar',
        field: null,
        message: 'the service has deprecated findSimilar (Deprecation: @1767225600)',
      },
      { operation: 'contents', field: 'ids', message: 'ids of contents is deprecated: use urls' },
    ]);
    const quiet = await clientOf(results);
    expect((await quiet.client.findSimilar({ url: 'https://a.example' })).deprecation).toBe('@1767225600');
  });
});

describe('beta features', () => {
  test('are requested by a header of the client, of a call, or of another name', async () => {
    const run = json(200, { id: 'agent_run_1', status: 'queued' });
    const { server, client } = await clientOf((_request, socket) => socket.write(run), { beta: ['a-2026-01-01'] });
    await client.getAgentRun({ id: 'x' });
    await client.createAgentRun({ query: 'q', effort: 'max' }, { beta: ['b-2026-02-02'] });
    const other = await clientOf((_request, socket) => socket.write(run), { beta: ['c'], betaHeader: 'svc-beta' });
    await other.client.getAgentRun({ id: 'x' });
    const sent = server.requests.map(({ headers }) => headers['exa-beta']);
    expect([...sent, other.server.requests[0]?.headers['svc-beta']]).toEqual([
      'a-2026-01-01',
      'a-2026-01-01,b-2026-02-02,agent-max-effort-2026-07-27',
      'c',
    ]);
  });

  test('with a line break in a token are refused', async () => {
    const { client } = await clientOf(() => undefined, { beta: ['a\r\nx: y'] });
    await expect(client.getAgentRun({ id: 'x' })).rejects.toThrow('has characters that are not allowed in a header');
  });
});
