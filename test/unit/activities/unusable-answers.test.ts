import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { InFlight } from '../../../src/activities/call/in-flight.js';
import { createPurchase } from '../../../src/activities/purchase/purchase.js';
import type { Bought, FailureStop, Unit } from '../../../src/activities/purchase/purchase-request.js';
import { contentsPurchase } from '../../../src/activities/rows/contents-purchase.js';
import { isNoOutput, nothingIn } from '../../../src/activities/rows/empty-answers.js';
import { decodedToKeep, keptText } from '../../../src/api/wire/decode-body.js';
import { nothingPause } from '../../../src/core/rows/pause.js';
import { answered, failure, setting, success, units } from '../../support/activities/purchase-setting.js';

const soon = { timeout: 4000 };
const stop = (changes: Partial<FailureStop> = {}): FailureStop => ({ job: 'job', since: 1, weight: 1, ...changes });
const holdsNothing = (batch: readonly Unit[]): Bought => ({ ...success(batch), nothing: 'it is empty' });
const slice = (nth: number, changes: object = {}) => ({
  ...{ segment: `job/gen/00000${nth}`, units: units(100, 100 * nth), unitsPerRequest: 1, failureStop: stop() },
  ...changes,
});

describe('answers with nothing usable', () => {
  it('stop a job after ten in a row, in whichever slice, and after each resume again', async () => {
    const s = await setting();
    const buy = createPurchase(s);
    const send = async (batch: readonly Unit[]) => holdsNothing(batch);
    const receipts = await Promise.all([0, 1].map((nth) => buy(s.request(send, slice(nth)), s.control)));
    expect(s.sent).toHaveLength(10);
    expect(receipts[0]).toMatchObject({ complete: false, nothing: { requests: 10, of: 10, why: 'it is empty' } });
    await buy(s.request(send, slice(2, { failureStop: stop({ since: 2 }) })), s.control);
    expect(s.sent).toHaveLength(20);
  });

  it('stop a job of page contents after two requests', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => holdsNothing(batch);
    const pages = slice(0, { unitsPerRequest: 20, failureStop: stop({ weight: 5 }) });
    expect(await createPurchase(s)(s.request(send, pages), s.control)).toMatchObject({ nothing: { requests: 2 } });
    expect(s.sent).toHaveLength(2);
  });

  it('stop a job after ten answers of another server, repeated requests included', async () => {
    const s = await setting();
    const send = async () => {
      throw failure({ ...answered(200), unrecognized: true });
    };
    const receipt = await createPurchase(s)(s.request(send, slice(0, { units: units(6) })), s.control);
    expect(receipt).toMatchObject({ nothing: { requests: 10 }, unknownOutcomes: 10 });
    expect(s.sent).toHaveLength(10);
  });

  it('stop a job in its middle after ten in a row', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length <= 50 ? success(batch) : holdsNothing(batch));
    const receipt = await createPurchase({ ...s, inFlight: new InFlight(5) })(s.request(send, slice(0)), s.control);
    expect(receipt).toMatchObject({ complete: false, nothing: { requests: 10, of: 10 } });
  });

  it('stop a job if they are twenty of the first fifty', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length % 2 === 0 ? success(batch) : holdsNothing(batch));
    const receipt = await createPurchase(s)(s.request(send, slice(0)), s.control);
    expect(receipt.nothing?.requests).toBe(20);
    expect(receipt.nothing?.of).toBeLessThanOrEqual(50);
  });

  it('do not stop a job whose other answers come in between', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length % 3 === 0 ? holdsNothing(batch) : success(batch));
    const receipt = await createPurchase(s)(s.request(send, slice(0)), s.control);
    expect(receipt).toMatchObject({ complete: true, bought: 100 });
    expect(receipt.nothing).toBeUndefined();
  });
});

it('a job begins with ten requests in flight, and each usable answer doubles them', async () => {
  const s = await setting();
  const answers: (() => void)[] = [];
  const send = (batch: readonly Unit[]) =>
    new Promise<Bought>((resolve) => answers.push(() => resolve(success(batch))));
  const onProven = vi.fn();
  const ended = createPurchase(s)(s.request(send, slice(0, { failureStop: stop({ onProven }) })), s.control);
  await vi.waitFor(() => expect(answers).toHaveLength(10), soon);
  answers[0]?.();
  await vi.waitFor(() => expect(answers).toHaveLength(21), soon);
  expect(onProven).toHaveBeenCalledTimes(1);
  answers[1]?.();
  await vi.waitFor(() => expect(answers).toHaveLength(42), soon);
  const timer = setInterval(() => {
    for (const answer of answers) answer();
  }, 1);
  expect(await ended).toMatchObject({ complete: true, bought: 100 });
  clearInterval(timer);
});

describe('what an answer has', () => {
  const page = { url: 'https://a.example/', title: 'A' };

  it.each([
    ['no results', { query: 'q', contents: { text: true } }, { results: [] }, false],
    ['results, if no contents were asked for', { query: 'q' }, { results: [page] }, false],
    ['results without the text that was asked for', { contents: { text: true } }, { results: [page, page] }, true],
    ['results with blank texts', { contents: { text: {} } }, { results: [{ ...page, text: ' \n' }] }, true],
    ['one result with a text', { contents: { text: true } }, { results: [page, { ...page, text: 'x' }] }, false],
    [
      'a summary of two kinds',
      { contents: { text: true, summary: true } },
      { results: [{ ...page, summary: 's' }] },
      false,
    ],
    ['an output beside them', { contents: { text: true } }, { results: [page], output: { content: 'x' } }, false],
    ['an answer', { query: 'q' }, { answer: 'yes' }, false],
    ['a blank answer', { query: 'q' }, { answer: ' ' }, true],
    ['an answer of an invisible character', { query: 'q' }, { answer: '\u200b' }, true],
    ['an answer without fields', { query: 'q' }, { answer: {} }, true],
    ['an answer that lists nothing', { query: 'q' }, { answer: [[]] }, false],
    ['an answer that lists nulls', { query: 'q' }, { answer: [null] }, true],
    ['results that are no pages', { query: 'q' }, { results: [{}, null, 'x', [[]]] }, true],
    ['no output for a schema', { outputSchema: {} }, { results: [page] }, true],
    ['an output without content', { outputSchema: {} }, { results: [page], output: { content: null } }, true],
    ['an output with a field', { outputSchema: {} }, { results: [page], output: { content: { a: null } } }, false],
    ['an answer whose values are all unknown', { query: 'q' }, { answer: { size: null } }, false],
  ])('%s', (_, request, answer, nothing) => {
    expect(nothingIn(request, answer) !== null).toBe(nothing);
  });

  it.each([
    [null, true],
    [undefined, true],
    [{}, true],
    [{ text: ' ', structured: null, grounding: [{}] }, true],
    [{ text: null, structured: {} }, true],
    [[null], true],
    [{ text: null, structured: { size: null } }, false],
    [{ text: 'x' }, false],
    ['x', false],
    [{ files: ['a'] }, false],
  ])('an output of a run: %j', (output, nothing) => {
    expect(isNoOutput(output)).toBe(nothing);
  });

  const [a, b] = ['https://a.example/', 'https://b.example/'] as const;
  const named = (id: string) => ({ id, status: 'error', error: { tag: 'CRAWL_NOT_FOUND' } });
  it.each([
    ['named errors', { results: [], statuses: [named(a), named(b)] }, false],
    ['an empty list of results', { results: [], statuses: [] }, false],
    ['a page of two', { results: [{ id: a, text: 'x' }, { id: b }], statuses: [] }, false],
    ['pages without text', { results: [{ id: a }, { id: b, text: '' }], statuses: [] }, true],
    ['a page without text beside a named error', { results: [{ id: a }], statuses: [named(b)] }, false],
    ['pages that were not asked for', { results: [{ id: 'https://c.example/', text: 'x' }], statuses: [] }, true],
  ])('contents with %s', async (_, data, nothing) => {
    const answer = { data, misread: [], raw: () => Buffer.from('{}'), rawList: () => null, release: () => undefined };
    const request = contentsPurchase(
      { transport: { send: async () => answer } as never, timeoutMs: 1, prices: () => ({}) as never },
      { ...slice(0), owner: 'o', unitsPerRequest: 2, resumedAt: 0, options: { text: true } },
    );
    const bought = await request.send(
      [a, b].map((unit) => ({ key: unit, unit })),
      {} as never,
    );
    expect(typeof bought.nothing === 'string').toBe(nothing);
  });
});

describe('the kept text of an unusable body', () => {
  const text = Buffer.from('{"results":[{"text":"ü"}]}');
  it.each([
    ['deflate', deflateSync(text)],
    ['gzip, gzip', gzipSync(gzipSync(text))],
    ['gzip', text],
    [null, text],
  ])('is decoded from %s', async (encoding, body) => {
    expect(keptText(await decodedToKeep(body, encoding, 1e6))).toBe(text.toString());
  });

  it('is a data URL of the bytes if they are no text', async () => {
    const bytes = gzipSync(text);
    expect(keptText(await decodedToKeep(bytes, 'of-tomorrow', 1e6))).toBe(`data:;base64,${bytes.toString('base64')}`);
    expect(keptText(text.subarray(0, text.length - 4))).toMatch(/^\{"results":\[\{"text":"/);
  });
});

it('the pause names the reason, the row with the kept answer, and the command to continue', () => {
  const found = { requests: 10, of: 10, why: 'POST /search: 200 OK: not JSON', row: 7 };
  expect(nothingPause(found, 'brands')).toEqual({
    reason: 'service',
    message:
      'The last 10 answers have nothing usable: POST /search: 200 OK: not JSON. The answers are kept; to see the last one: searchflow trace brands --row 7 --answer. Check SEARCHFLOW_BASE_URL, the request and the service. To continue: searchflow resume brands',
  });
  expect(nothingPause({ ...found, requests: 20, of: 41 }, null).message).toMatch(/^20 of the first 41 answers/);
});

describe('warnings of the service', () => {
  const warnings = [{ kind: 'warning', code: 'IGNORED_FIELD', path: '/x', message: 'm' }] as const;
  const warned = (batch: readonly Unit[]): Bought => ({ ...success(batch), warnings });

  it('in the first answers stop a job, unless they are accepted or another process has had the first answers', async () => {
    const s = await setting();
    const buy = createPurchase(s);
    const send = async (batch: readonly Unit[]) => warned(batch);
    expect(await buy(s.request(send, slice(0)), s.control)).toMatchObject({
      complete: false,
      stoppedBy: warnings,
      warnings,
    });
    expect(s.sent.length).toBeLessThanOrEqual(20);
    for (const [nth, failureStop] of [
      [1, stop({ since: 2, acceptWarnings: ['IGNORED_FIELD'] })],
      [2, stop({ since: 3, isProven: true })],
    ] as const) {
      const receipt = await buy(s.request(send, slice(nth, { failureStop })), s.control);
      expect(receipt).toMatchObject({ complete: true, warnings });
      expect(receipt.stoppedBy).toBeUndefined();
    }
  });

  it('in later answers are kept, and stop nothing', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length > 80 ? warned(batch) : success(batch));
    const receipt = await createPurchase({ ...s, inFlight: new InFlight(5) })(s.request(send, slice(0)), s.control);
    expect(receipt).toMatchObject({ complete: true, warnings });
  });
});
