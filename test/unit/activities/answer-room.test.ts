import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AnswerPlace, AnswerRoom, InFlight } from '../../../src/activities/call/in-flight.js';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import type { Transport } from '../../../src/api/transport.js';
import { transportTo } from '../../support/api/transport-to.js';

const MEGA = 1_048_576;
/** The room for the answers of a worker. */
const ROOM = 3 * MEGA;
const never = new AbortController().signal;
setMaxListeners(0, never);

describe('the room for answers', () => {
  /** A place, with the times when its answer may be read. */
  function placeIn(room: AnswerRoom, bytes: number, read: string[], name: string) {
    const place = new AnswerPlace(room);
    const begin = () => {
      place.add(bytes);
      read.push(name);
    };
    if (place.enter(begin)) begin();
    return place;
  }

  it('lets answers in until it is full, and the others in their order as soon as others leave', () => {
    const crowded = vi.fn();
    const room = new AnswerRoom(crowded);
    const read: string[] = [];
    const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => placeIn(room, ROOM / 2, read, name)) as [
      AnswerPlace,
      AnswerPlace,
      AnswerPlace,
      AnswerPlace,
      AnswerPlace,
    ];
    expect(read).toEqual(['a', 'b']);
    expect(crowded).toHaveBeenCalledTimes(3);
    expect(room.waiting).toBe(3);
    d.leave();
    expect(room.waiting).toBe(2);
    b.leave();
    expect(read).toEqual(['a', 'b', 'c']);
    for (const place of [a, c, e]) place.leave();
    expect(read).toEqual(['a', 'b', 'c', 'e']);
    expect(room.waiting).toBe(0);
    placeIn(room, ROOM, read, 'f');
    expect(read.at(-1)).toBe('f');
  });

  it('has place for one answer that is larger than the room', () => {
    const room = new AnswerRoom();
    const read: string[] = [];
    const large = placeIn(room, 10 * ROOM, read, 'large');
    placeIn(room, 1, read, 'small');
    expect(read).toEqual(['large']);
    large.leave();
    expect(read).toEqual(['large', 'small']);
  });

  it('uses the memory of an answer again once the answer has left', () => {
    const room = new AnswerRoom();
    const first = new AnswerPlace(room);
    const memory = first.take(MEGA);
    expect(new AnswerPlace(room).take(MEGA).buffer).not.toBe(memory.buffer);
    first.leave();
    first.leave();
    expect(new AnswerPlace(room).take(MEGA).buffer).toBe(memory.buffer);
    expect(new AnswerPlace(room).take(MEGA).buffer).not.toBe(memory.buffer);
  });
});

describe('the number of requests in flight', () => {
  /** Enters requests, and returns how many are let in. */
  function entering(permits: InFlight, most: number) {
    const entered = { count: 0 };
    for (let count = 0; count < most; count++) void permits.enter(never).then(() => void entered.count++);
    return entered;
  }
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  /** Ends requests, whose answers are on the disk. */
  const end = (permits: InFlight, places: readonly (AnswerPlace | undefined)[]) => {
    for (const place of places) {
      place?.leave();
      permits.sent--;
      permits.leave();
    }
  };

  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('falls to that of the answers that do not wait for room, and rises with each request that ends', async () => {
    const permits = new InFlight(100);
    const entered = entering(permits, 300);
    await vi.advanceTimersByTimeAsync(10_000);
    permits.sent = 100;
    const places = Array.from({ length: 100 }, () => permits.place());
    for (const place of places) {
      const begin = () => place.add(ROOM / 32);
      if (place.enter(begin)) begin();
    }
    // 32 answers are read and 68 wait. While more than 32 requests are in flight, none is sent.
    end(permits, places.splice(0, 67));
    await nextTurn();
    expect(entered.count).toBe(100);
    // No answer waits when the last 33 requests end, so each of them raises the number.
    end(permits, places);
    await nextTurn();
    expect(entered.count).toBe(100 + 32 + 33);
  });

  it('sends callers away that must not wait long, one after the other', async () => {
    const permits = new InFlight(1);
    const { signal } = new AbortController();
    expect(await permits.enterSoon(signal, 10)).toBe(true);
    vi.useRealTimers();
    const waits: number[] = [];
    for (let nth = 0; nth < 3; nth++) {
      const refusal = await permits.enterSoon(signal, 10).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ type: 'Waiting' });
      waits.push((refusal as { readonly details: [{ readonly waitMs: number }] }).details[0].waitMs);
    }
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    permits.leave();
    expect(await permits.enterSoon(signal, 10)).toBe(true);
  });
});

describe('an answer that finds no room', () => {
  let transport: Transport;
  let close: () => Promise<void>;
  let answers: ServerResponse[] = [];
  let room: AnswerRoom;
  const text = JSON.stringify({ results: [{ id: 'a', url: 'https://a.example/', text: 'x'.repeat(4 * MEGA) }] });

  beforeEach(async () => {
    answers = [];
    room = new AnswerRoom();
    ({ transport, close } = await transportTo((_request, response) => void answers.push(response)));
  });
  afterEach(() => close());

  async function ask(place: AnswerPlace, signal = never) {
    const answer = transport.send(
      contentsEndpoint,
      { urls: ['https://a.example/'], text: true },
      { signal, space: place },
    );
    await expect.poll(() => answers.length).toBe(1);
    return { answer, response: answers.pop() as ServerResponse };
  }

  it.each([
    ['of a known length', { 'content-length': String(text.length) }],
    ['of unknown length', {}],
  ])('%s waits in its connection, and is whole when it is let in', async (_name, headers) => {
    const full = new AnswerPlace(room);
    full.add(ROOM);
    const place = new AnswerPlace(room);
    const { answer, response } = await ask(place);
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(text);
    await expect.poll(() => room.waiting).toBe(1);
    expect(response.writableFinished).toBe(false);
    full.leave();
    const { raw } = await answer;
    expect(raw().toString()).toBe(text);
    // The answer is larger than the room, so the next one waits until it has left.
    const next = vi.fn();
    expect(new AnswerPlace(room).enter(next)).toBe(false);
    place.leave();
    expect(next).toHaveBeenCalledOnce();
  });

  it('leaves the queue if its request ends meanwhile', async () => {
    const full = new AnswerPlace(room);
    full.add(ROOM);
    const place = new AnswerPlace(room);
    const stop = new AbortController();
    const { answer, response } = await ask(place, stop.signal);
    const refused = expect(answer).rejects.toMatchObject({ aborted: true });
    response.writeHead(200, { 'content-length': text.length });
    response.end(text);
    await expect.poll(() => room.waiting).toBe(1);
    stop.abort(new Error('stopped'));
    await refused;
    if (!response.destroyed) await once(response, 'close');
    place.leave();
    expect(room.waiting).toBe(0);
    full.leave();
    expect(new AnswerPlace(room).enter(() => undefined)).toBe(true);
  });
});
