import { describe, expect, test } from 'vitest';
import { ApiError, StreamDropped } from '../../../src/api/wire/errors.js';
import { clientOf, type Handler, json } from '../../support/api/raw-server.js';

const head = (extra = ''): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nx-request-id: req-9\r\n${extra}transfer-encoding: chunked\r\n\r\n`;
const chunk = (text: string | Buffer): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
};
const end = '0\r\n\r\n';
/** A service that sends these texts as a stream and then ends it, or cuts the connection. */
const streaming =
  (texts: readonly (string | Buffer)[], how: 'end' | 'cut' | 'open' = 'end'): Handler =>
  (_request, socket) => {
    socket.write(head());
    for (const text of texts) socket.write(chunk(text));
    if (how === 'end') socket.write(end);
    if (how === 'cut') socket.destroySoon();
  };
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const event = (id: number, name: string, value: unknown): string =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(value)}\n\n`;

/** Reads a stream to its end; returns its events, and its error or null. */
async function all<C>(stream: AsyncIterable<C>): Promise<{ chunks: C[]; error: unknown }> {
  const chunks: C[] = [];
  try {
    for await (const one of stream) chunks.push(one);
    return { chunks, error: null };
  } catch (error) {
    return { chunks, error };
  }
}

const delta = { type: 'text-delta', delta: 'Grüße ' };
const done = { type: 'done', output: { content: 'x', grounding: [] }, searchTime: 5, costDollars: { total: 0.012 } };

describe('a streamed search', () => {
  test('fault 19: returns every chunk unchanged, unknown ones too, and ends with [DONE]', async () => {
    const chunks = [delta, { type: 'stream-reset', streamReset: true }, { type: 'new', x: [1, null] }, done];
    const texts = [': keep-alive\n\n', 'retry: 5\n\n', ...chunks.map(data), 'data: [DONE]\n\n', data(delta)];
    const { server, client } = await clientOf(streaming(texts, 'open'));
    const stream = client.streamSearch(
      { query: 'q', outputSchema: { type: 'text' } },
      { extraBody: { stream: false } },
    );
    expect(server.requests).toHaveLength(0);
    expect(await all(stream)).toEqual({ chunks, error: null });
    expect([stream.requestId, stream.costMicros, stream.lastEventId]).toEqual(['req-9', 12_000, null]);
    const [request] = server.requests;
    expect(JSON.parse(request?.body ?? '')).toEqual({ query: 'q', outputSchema: { type: 'text' }, stream: true });
    expect(request?.headers).toMatchObject({ accept: 'text/event-stream', 'accept-encoding': 'identity' });
  });

  test('fault 17: that broke off did not end', async () => {
    for (const how of ['end', 'cut'] as const) {
      const { client } = await clientOf(streaming([data(delta), 'data: {"type":"text-d'], how));
      const { chunks, error } = await all(client.streamSearch({ query: 'q' }));
      expect(chunks).toEqual([delta]);
      expect(error).toBeInstanceOf(StreamDropped);
      expect(error).toMatchObject({ name: 'StreamDropped', requestId: 'req-9', lastEventId: null });
      expect((error as ApiError).verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'maybe' });
    }
  });

  test('is complete after its last chunk, even if the connection breaks then', async () => {
    const { client } = await clientOf(streaming([data(done)], 'cut'));
    expect(await all(client.streamSearch({ query: 'q' }))).toEqual({ chunks: [done], error: null });
  });

  test('that the service answers in one piece is one chunk', async () => {
    const body = { requestId: 'r', results: [{ title: 'x' }], costDollars: { total: 0.007 }, more: 1 };
    const { client } = await clientOf((_request, socket) => socket.write(json(200, body)));
    const stream = client.streamSearch({ query: 'q' });
    expect(await all(stream)).toEqual({ chunks: [{ ...body, type: 'response' }], error: null });
    expect([stream.requestId, stream.costMicros]).toEqual(['r', 7000]);
  });

  test.each<[unknown, string, string]>([
    [{ type: 'error', error: { message: 'no  words canary-7f3a9c-key' } }, 'ServiceUnavailable', 'no words [redacted]'],
    [{ type: 'error' }, 'ServiceUnavailable', 'ended with an error'],
    [{ type: 'error', error: 'no words' }, 'ServiceUnavailable', 'no words'],
    [{ error: 'no words' }, 'ServiceUnavailable', 'no words'],
    [{ type: 'error', error: { message: 'slow down', code: 429 } }, 'RateLimited', '429'],
  ])('with the chunk %j fails', async (failure, type, message) => {
    const { client } = await clientOf(streaming([data(delta), data(failure), 'data: [DONE]\n\n']));
    const { chunks, error } = await all(client.streamSearch({ query: 'q' }));
    expect(chunks).toEqual([delta]);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).not.toBeInstanceOf(StreamDropped);
    expect(error).toMatchObject({ verdict: { type } });
    expect(String(error)).toContain(message);
  });

  test('with a chunk of the wrong shape is refused, and the chunk kept', async () => {
    for (const text of ['data: {"type":"results","results":7}\n\n', 'data: {"choices":{}}\n\n']) {
      const { client } = await clientOf(streaming([text]));
      const { error } = await all(client.streamSearch({ query: 'q' }));
      expect(error).toMatchObject({ verdict: { type: 'ResponseShape' }, body: text.slice(6).trim() });
    }
  });

  test('fault 19: passes on unknown chunks of any shape, and reads to its end', async () => {
    const deep = '['.repeat(100_000);
    const odd = ['keep-alive', 'null', '[1]', '{"type":"progress","choices":5}', '{"type":7}', deep];
    const texts = [
      data(delta),
      'event: ping\ndata:\n\n',
      ...odd.map((text) => `event: e\ndata: ${text}\n\n`),
      data(done),
    ];
    for (const [kind, last] of [
      ['streamSearch', done],
      ['streamAnswer', { costDollars: { total: 0.005 } }],
    ] as const) {
      const { client } = await clientOf(streaming([...texts.slice(0, -1), data(last)]));
      const { chunks, error } = await all<unknown>(client[kind]({ query: 'q' }));
      expect(error).toBeNull();
      const unknown = (value: unknown) => ({ type: 'unknown', event: 'e', data: value });
      expect(chunks).toEqual([
        delta,
        ...['keep-alive', null, [1], { type: 'progress', choices: 5 }, { type: 7 }, deep].map(unknown),
        last,
      ]);
    }
  });

  test('is refused before sending like any other request', async () => {
    const { server, client } = await clientOf(streaming([]));
    const { error } = await all(client.streamSearch({ query: 'q', numResults: 0 }));
    expect(String(error)).toContain('POST /search: refused before sending: numResults: must be');
    expect(server.connections()).toBe(0);
  });
});

describe('a streamed answer', () => {
  const words = { choices: [{ index: 0, delta: { role: 'assistant', content: 'Yes' }, finish_reason: null }] };
  const stop = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const cost = { costDollars: { total: 0.005 }, requestId: 'r' };

  test.each([[[words, stop]], [[words, { citations: [] }, cost]]])('ends without [DONE] after %j', async (chunks) => {
    const { client } = await clientOf(streaming(chunks.map(data)));
    expect(await all(client.streamAnswer({ query: 'q' }))).toEqual({ chunks, error: null });
    // Some clients set the field that asks for a stream.
    expect(await all(client.streamAnswer({ query: 'q', stream: true }))).toEqual({ chunks, error: null });
  });

  test('broke off if the connection was cut, or without any mark of its end', async () => {
    for (const [chunks, how] of [
      [[words, stop], 'cut'],
      [[words], 'end'],
    ] as const) {
      const { client } = await clientOf(streaming(chunks.map(data), how));
      expect((await all(client.streamAnswer({ query: 'q' }))).error).toBeInstanceOf(StreamDropped);
    }
  });

  test('fails with the error in it', async () => {
    const failure = { tag: 'ERROR', payload: { error: { code: 500, message: 'boom' }, requestId: 'r' } };
    const { client } = await clientOf(streaming([data(words), data(failure)]));
    const { error } = await all(client.streamAnswer({ query: 'q' }));
    expect(error).toMatchObject({ facts: { status: 500 }, serverMessage: 'boom', verdict: { charged: 'maybe' } });
  });
});

describe.each(['streamSearch', 'streamAnswer', 'streamAgentRun'] as const)('an error in %s', (kind) => {
  const X = { tag: 'X_IN', message: 'boom' };
  test.each([
    ['a payload', data({ tag: 'ERROR', payload: { error: 'boom', tag: 'X_IN', requestId: 'r_in' } })],
    ['an object in a payload', data({ tag: 'ERROR', payload: { error: { ...X, code: 7 } }, requestId: 'r_in' })],
    ['a named event', `event: error\n${data({ message: 'boom', code: 'X_IN', requestId: 'r_in' })}`],
    ['a type', data({ type: 'error', ...X, requestId: 'r_in' })],
    ['a payload of a named event', `event: error\n${data({ payload: { ...X, requestId: 'r_in' } })}`],
    ['data of a type', data({ type: 'error', data: { ...X, requestId: 'r_in' } })],
    ['a name in capitals', `event: ERROR\n${data({ ...X, requestId: 'r_in' })}`],
    ['an error of a type', data({ error: { type: 'X_IN', message: 'boom' }, requestId: 'r_in' })],
    ['an event without a name', data({ error: X, requestId: 'r_in' })],
    ['fields beside it', data({ error: { message: 'boom' }, code: 'X_IN', request_id: 'r_in' })],
    [
      'an event named message',
      `event: message\n${data({ error: { code: 'X_IN', message: 'boom' }, requestId: 'r_in' })}`,
    ],
  ])('as %s keeps its tag, text and request id', async (_form, text) => {
    const { client } = await clientOf(streaming([text]));
    const { chunks, error } = await all<unknown>(client[kind]({ query: 'q' }));
    expect(chunks).toEqual([]);
    expect(error).not.toBeInstanceOf(StreamDropped);
    expect(error).toMatchObject({ facts: { tag: 'X_IN' }, serverMessage: 'boom', requestId: 'r_in' });
  });
});

describe('a streamed agent run', () => {
  const created = event(1, 'agent_run.created', { id: 'agent_run_1', status: 'queued' });
  const trace = event(2, 'agent_run.search_trace', { callId: 'c', status: 'running' });
  const run = { id: 'agent_run_1', object: 'agent_run', status: 'completed', costDollars: { total: 0.1 } };

  test('ends with the terminal event, though the connection stays open', async () => {
    const texts = [created, ': keep-alive\n\n', trace, event(3, 'agent_run.completed', run)];
    const { server, client } = await clientOf(streaming(texts, 'open'));
    const stream = client.streamAgentRun({ query: 'q' });
    const { chunks, error } = await all(stream);
    expect(error).toBeNull();
    expect(chunks.map(({ id, event: name }) => [id, name])).toEqual([
      ['1', 'agent_run.created'],
      ['2', 'agent_run.search_trace'],
      ['3', 'agent_run.completed'],
    ]);
    expect(chunks[2]?.data).toEqual(run);
    expect([stream.lastEventId, stream.costMicros]).toEqual(['3', 100_000]);
    expect(server.requests[0]?.body).toBe('{"query":"q"}');
  });

  test('fault 17: returns a repeated event once, in the order of arrival, and all different ones with the same id', async () => {
    const other = event(2, 'agent_run.search_trace', { callId: 'd', status: 'running' });
    const texts = [trace, created, created, other, created, trace, event(3, 'agent_run.completed', run)];
    const { client } = await clientOf(streaming(texts));
    const stream = client.streamAgentRun({ query: 'q' });
    const { chunks, error } = await all(stream);
    expect(error).toBeNull();
    expect(chunks.map(({ id }) => id)).toEqual(['2', '1', '2', '3']);
    expect(stream.lastEventId).toBe('3');
  });

  test.each(['failed', 'cancelled', 'timed_out'])('that ended %s has ended', async (status) => {
    const { client } = await clientOf(streaming([created, event(2, `agent_run.${status}`, { id: 'x', status })]));
    expect((await all(client.streamAgentRun({ query: 'q' }))).error).toBeNull();
  });

  test('faults 17 and 18: that broke off reports the last id, from which a replay continues', async () => {
    const { client } = await clientOf(streaming([created, trace], 'cut'));
    const { error } = await all(client.streamAgentRun({ query: 'q' }));
    expect(error).toBeInstanceOf(StreamDropped);
    expect(error).toMatchObject({ lastEventId: '2', endpoint: 'createAgentRun' });

    const replay = await clientOf(streaming([event(3, 'agent_run.completed', run)]));
    const events = replay.client.streamAgentRunEvents({ id: 'agent_run_1' }, { lastEventId: '2' });
    expect((await all(events)).chunks).toHaveLength(1);
    expect(replay.server.requests[0]?.headers).toMatchObject({ 'last-event-id': '2', accept: 'text/event-stream' });
    expect(replay.server.requests[0]?.path).toBe('/agent/runs/agent_run_1/events');
  });

  test('that is replayed ends with the connection, and broke off if that is cut', async () => {
    for (const [how, dropped] of [
      ['end', false],
      ['cut', true],
    ] as const) {
      const { client } = await clientOf(streaming([created], how));
      const { error } = await all(client.streamAgentRunEvents({ id: 'agent_run_1' }));
      expect(error instanceof StreamDropped).toBe(dropped);
    }
  });

  test('is refused like the plain call, before sending and by the service', async () => {
    const body = { error: { type: 'RATE_LIMIT_ERROR', code: 'CONCURRENCY_LIMIT_REACHED', message: 'full' } };
    const { client } = await clientOf((_request, socket) => socket.write(json(429, body)));
    const { error } = await all(client.streamAgentRun({ query: 'q' }));
    expect(error).toMatchObject({ verdict: { type: 'ConcurrencyLimited' }, serverMessage: 'full' });
  });

  test('passes on texts that are not JSON, and fails with an error event', async () => {
    const texts = [
      created,
      'event: agent_run.note\ndata: words\n\n',
      event(3, 'agent_run.tool', { type: 'error', error: 'of a tool' }),
      event(9, 'error', { error: { message: 'gone' } }),
    ];
    const { client } = await clientOf(streaming(texts));
    const { chunks, error } = await all(client.streamAgentRun({ query: 'q' }));
    expect(chunks[1]).toEqual({ id: null, event: 'agent_run.note', data: 'words' });
    expect(error).toMatchObject({ serverMessage: 'gone' });
    expect(error).not.toBeInstanceOf(StreamDropped);
  });
});

describe('a stream', () => {
  test('fault 19: has a maximum size, for an event and in total', async () => {
    const large = data({ type: 'text-delta', delta: 'x'.repeat(200_000) });
    const one = await clientOf(streaming([large, 'data: [DONE]\n\n']), { maxEventChars: 100_000 });
    const { error } = await all(one.client.streamSearch({ query: 'q' }));
    expect(String(error)).toContain('an event of the stream is larger than 100000 characters');
    expect(error).toMatchObject({ verdict: { type: 'ResponseShape' } });

    const many = await clientOf(streaming(Array(20).fill(large)), { maxBodyBytes: 1_000_000 });
    const came = await all(many.client.streamSearch({ query: 'q' }));
    expect(came.chunks.length).toBeLessThan(6);
    expect(String(came.error)).toContain('the stream is larger than 1000000 bytes');
  });

  test('fault 19: that falls silent is dropped; one that keeps alive continues to its end', async () => {
    const { client } = await clientOf(streaming([data(delta)], 'open'), { timeouts: { streamSilenceMs: 300 } });
    const { chunks, error } = await all(client.streamSearch({ query: 'q' }));
    expect(chunks).toEqual([delta]);
    expect(String(error)).toContain('StreamDropped: POST /search: 200 OK: the answer stalled for 0.3 s');

    const drip: Handler = (_request, socket) => {
      socket.write(head());
      const timer = setInterval(() => socket.write(chunk(': keep-alive\n\n')), 40);
      socket.on('close', () => clearInterval(timer));
    };
    const alive = await clientOf(drip, { timeouts: { streamSilenceMs: 300, streamMs: 900 } });
    const began = performance.now();
    const { error: late } = await all(alive.client.streamSearch({ query: 'q' }));
    expect(performance.now() - began).toBeGreaterThan(800);
    expect(String(late)).toContain('no complete answer within 0.9 s');
  });

  test('is aborted by its signal, and when its reader stops', async () => {
    const stop = new AbortController();
    const { server, client } = await clientOf(streaming([data(delta)], 'open'));
    const stream = client.streamSearch({ query: 'q' }, { signal: stop.signal });
    const reading = all(
      (async function* () {
        for await (const one of stream) {
          yield one;
          stop.abort();
        }
      })(),
    );
    expect((await reading).error).toMatchObject({ aborted: true, name: 'StreamDropped' });

    const closed = new Promise((resolve) => {
      server.onConnection((socket) => socket.on('close', resolve));
    });
    for await (const one of client.streamSearch({ query: 'q' })) {
      expect(one).toEqual(delta);
      break;
    }
    await closed;
  });

  test('slows the connection down while it is not read, and loses nothing', async () => {
    const count = 400;
    const big = (index: number) => data({ type: 'text-delta', delta: `${index} ${'x'.repeat(50_000)}` });
    const { server, client } = await clientOf(
      streaming([...Array.from({ length: count }, (_, index) => big(index)), 'data: [DONE]\n\n']),
    );
    let read = 0;
    for await (const one of client.streamSearch({ query: 'q' })) {
      for (let turn = 0; read === 0 && turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (read === 0) expect([...server.sockets][0]?.writableLength).toBeGreaterThan(0);
      expect(one.delta?.startsWith(`${read} `)).toBe(true);
      read++;
    }
    expect(read).toBe(count);
  });

  test('that was lost before its start fails like any call', async () => {
    const { client } = await clientOf((_request, socket) => socket.destroy());
    const { error } = await all(client.streamAgentRun({ query: 'q' }));
    expect(error).toMatchObject({ facts: { phase: 'sent', status: null }, verdict: { charged: 'maybe' } });
  });
});

describe('fault 18: a replay', () => {
  const run = { id: 'agent_run_1', status: 'completed' };

  test('that is refused says so, and is no dropped stream: the run is read by polling', async () => {
    const { client } = await clientOf((request, socket) => {
      const refusal = { error: { type: 'INVALID_REQUEST', code: 'INVALID_REQUEST', message: 'unknown Last-Event-ID' } };
      socket.write(request.headers['last-event-id'] ? json(400, refusal) : json(200, run));
    });
    const { error } = await all(client.streamAgentRunEvents({ id: 'agent_run_1' }, { lastEventId: '2' }));
    expect(error).not.toBeInstanceOf(StreamDropped);
    expect(error).toMatchObject({
      verdict: { type: 'InvalidRequest', retry: false },
      serverMessage: 'unknown Last-Event-ID',
    });
    expect((await client.getAgentRun({ id: 'agent_run_1' })).data).toEqual(run);
  });
});

describe('fault 17: a stream cut after any of its bytes', () => {
  const words = { choices: [{ index: 0, delta: { content: 'Grüße 🚲' }, finish_reason: null }] };
  const cases = [
    ['streamSearch', { query: 'q' }, [data(delta), 'data: [DONE]\n\n']],
    ['streamAnswer', { query: 'q' }, [data(words), data({ costDollars: { total: 0.005 } }), 'data: [DONE]\n\n']],
    [
      'streamAgentRun',
      { query: 'q' },
      [event(1, 'agent_run.created', { id: 'r', status: 'queued' }), event(2, 'agent_run.completed', { id: 'r' })],
    ],
  ] as const;

  test.each(cases)('%s returns whole events only, and reports that it broke off', async (name, input, texts) => {
    const bytes = Buffer.from(texts.join(''));
    const { client } = await clientOf((request, socket) => {
      const at = Number(request.headers['x-cut']);
      socket.write(head());
      if (at > 0) socket.write(chunk(bytes.subarray(0, at)));
      if (at < bytes.length) socket.destroySoon();
    });
    const read = (at: number) =>
      all<unknown>(
        (client[name] as (input: object, options: object) => AsyncIterable<unknown>)(input, {
          extraHeaders: { 'x-cut': String(at) },
        }),
      );
    const whole = await read(bytes.length);
    expect(whole.error).toBeNull();
    for (let at = 0; at < bytes.length; at++) {
      const { chunks, error } = await read(at);
      expect([at, chunks]).toEqual([at, whole.chunks.slice(0, chunks.length)]);
      if (error === null) expect([at, chunks]).toEqual([at, whole.chunks]);
      else expect([at, error]).toEqual([at, expect.any(StreamDropped)]);
    }
  });
});
