import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSseReader, EventTooLarge, type SseEvent } from '../../../src/api/stream/sse.js';

const read = (pieces: readonly Uint8Array[]): SseEvent[] => {
  const reader = createSseReader(10_000);
  return [...pieces.flatMap((piece) => reader.feed(piece)), ...reader.end()];
};

const stream = Buffer.from(
  '\ufeff: hi\r\nid: 1\r\nevent: agent_run.created\r\ndata: {"name":"Zoë 👩‍🚀"}\r\n\r\n' +
    ':keep-alive\n\nretry: 10\nunknown: x\ndata: first\ndata: second\n\ndata\n\nid: é\rdata: cr only\r\rdata: [DONE]\n\n',
);
const wanted: SseEvent[] = [
  { id: '1', event: 'agent_run.created', data: '{"name":"Zoë 👩‍🚀"}' },
  { id: null, event: null, data: 'first\nsecond' },
  { id: null, event: null, data: '' },
  { id: 'é', event: null, data: 'cr only' },
  { id: null, event: null, data: '[DONE]' },
];

describe('an event stream', () => {
  test('fault 17: has the same events when split at every byte', () => {
    for (let at = 0; at <= stream.length; at++) {
      expect(read([stream.subarray(0, at), stream.subarray(at)]), `split at ${at}`).toEqual(wanted);
    }
    expect(read([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(wanted);
  });

  test('has the same events when split anywhere, for any events', () => {
    const word = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/[\r\n\0]/g, ' '));
    const events = fc.array(fc.record({ id: word, event: word, data: fc.array(word, { minLength: 1, maxLength: 3 }) }));
    fc.assert(
      fc.property(events, fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat()), (list, line, cuts) => {
        const text = list
          .map(({ id, event, data }) => [`id: ${id}`, `event: ${event}`, ...data.map((one) => `data: ${one}`), '', ''])
          .map((lines) => lines.join(line))
          .join(`:${line}`);
        const bytes = Buffer.from(text);
        const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((to, index) => bytes.subarray(at[index], to));
        const whole = list.map(({ id, event, data }) => ({ id, event: event || null, data: data.join('\n') }));
        expect(read(pieces)).toEqual(whole);
      }),
    );
  });

  test('returns an unfinished last event only at its end', () => {
    const reader = createSseReader(100);
    expect(reader.feed(Buffer.from('id: 7\ndata: half'))).toEqual([]);
    expect(reader.end()).toEqual([{ id: '7', event: null, data: 'half' }]);
  });

  test.each([
    ['one line', [`data: ${'x'.repeat(200)}`]],
    ['many lines', Array(30).fill('data: 12345\n')],
    ['one piece', [`data: ${'x'.repeat(200)}\n\n`]],
  ])('refuses an event that is too large in %s', (_name, pieces) => {
    const reader = createSseReader(100);
    expect(() => pieces.map((piece: string) => reader.feed(Buffer.from(piece)))).toThrow(EventTooLarge);
  });
});
