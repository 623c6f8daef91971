import { describe, expect, test } from 'vitest';
import type { Client } from '../../../src/api/client.js';
import { type ListOperation, listOperations } from '../../../src/api/operations.js';
import { WalkError } from '../../../src/core/events/walk.js';
import { examples } from '../../support/api/examples.js';
import { clientOf, json } from '../../support/api/raw-server.js';

const cursorOf = (path: string): string | null => new URL(path, 'http://x').searchParams.get('cursor');
const each = (client: Client, name: ListOperation, input: object) =>
  (client.each[name] as (input: object) => AsyncGenerator<{ id: string }>)(input);

describe.each([...listOperations])('each of %s', (name) => {
  const input = { ...examples[name].input, cursor: undefined };
  const item = (id: number) => ({
    id: `i${id}`,
    status: 'x',
    type: 't',
    createdAt: '2026-01-01',
    left: { as: ['it', 'is'] },
  });

  test('covers all pages, which are requested when needed', async () => {
    const { server, client } = await clientOf((request, socket) => {
      const at = Number(cursorOf(request.path) ?? 0);
      const data = at === 1 ? [] : [item(at * 2), item(at * 2 + 1)];
      socket.write(json(200, { data, hasMore: at < 3, nextCursor: at < 3 ? String(at + 1) : null }));
    });
    const found: unknown[] = [];
    for await (const one of each(client, name, input)) {
      found.push(one);
      if (found.length === 2) expect(server.requests).toHaveLength(1);
    }
    expect(found).toEqual([0, 1, 4, 5, 6, 7].map(item));
    expect(server.requests.map(({ path }) => cursorOf(path))).toEqual([null, '1', '2', '3']);
  });

  test('stops at a pagination loop', async () => {
    const { server, client } = await clientOf((_request, socket, nth) =>
      socket.write(json(200, { data: [item(nth)], hasMore: true, nextCursor: 'again' })),
    );
    const walk = async () => {
      for await (const _one of each(client, name, input));
    };
    await expect(walk()).rejects.toMatchObject({ name: 'WalkError', problem: 'repeated-cursor' });
    expect(server.requests).toHaveLength(2);
  });

  test('returns the records of a page that has no valid next page', async () => {
    const { client } = await clientOf((_request, socket) =>
      socket.write(json(200, { data: [item(1)], hasMore: true })),
    );
    const walk = each(client, name, input);
    expect(await walk.next()).toMatchObject({ value: item(1) });
    await expect(walk.next()).rejects.toMatchObject({ problem: 'no-cursor' });
  });

  test('returns a record once that a shifting list shows on two pages', async () => {
    const { client } = await clientOf((request, socket) => {
      const at = Number(cursorOf(request.path) ?? 0);
      socket.write(json(200, { data: [item(at), item(at + 1)], hasMore: at < 2, nextCursor: String(at + 1) }));
    });
    const found: string[] = [];
    for await (const { id } of each(client, name, input)) found.push(id);
    expect(found).toEqual(['i0', 'i1', 'i2', 'i3']);
  });

  test('reports an expired cursor, with the refusal as its cause', async () => {
    const { client } = await clientOf((request, socket) => {
      const gone = json(400, { error: 'Invalid cursor', tag: 'INVALID_REQUEST' });
      socket.write(cursorOf(request.path) ? gone : json(200, { data: [item(1)], hasMore: true, nextCursor: 'c' }));
    });
    const walk = async (from: object) => {
      for await (const _one of each(client, name, { ...input, ...from }));
    };
    for (const from of [{}, { cursor: 'kept' }]) {
      const error: unknown = await walk(from).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(WalkError);
      expect(error).toMatchObject({ problem: 'expired-cursor', cause: { serverMessage: 'Invalid cursor' } });
    }
  });
});

test('a list in another envelope is read', async () => {
  const { client } = await clientOf((_request, socket, nth) =>
    socket.write(json(200, nth === 1 ? { runs: [{ id: 'a' }], has_more: true, next_cursor: 'c' } : { runs: [] })),
  );
  const found: string[] = [];
  for await (const run of client.each.listMonitorRuns({ id: 'm' })) found.push(run.id);
  expect(found).toEqual(['a']);
});
