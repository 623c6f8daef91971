import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { InFlight } from '../../../src/activities/call/in-flight.js';
import type { Bought, FailureStop, Unit } from '../../../src/activities/purchase/purchase-request.js';
import { contentsPurchase } from '../../../src/activities/rows/contents-purchase.js';
import { holdsNoRow, isNoOutput, nothingIn } from '../../../src/activities/rows/empty-answers.js';
import { costInBody } from '../../../src/api/schemas/result.js';
import { decodedToKeep, keptText } from '../../../src/api/wire/decode-body.js';
import { nothingPause } from '../../../src/core/rows/pause.js';
import { answered, failure, setting, success, units } from '../../support/activities/purchase-setting.js';

const soon = { timeout: 4000 };
const stop = (changes: Partial<FailureStop> = {}): FailureStop => ({ job: 'job', since: 1, weight: 1, ...changes });
const holdsNothing = (batch: readonly Unit[]): Bought => ({ ...success(batch), nothing: 'it is empty' });
const sendsNothing = async (batch: readonly Unit[]) => holdsNothing(batch);
const slice = (nth: number, changes: object = {}) => ({
  ...{ segment: `job/gen/00000${nth}`, units: units(100, 100 * nth), unitsPerRequest: 1, failureStop: stop() },
  ...changes,
});

describe('answers with nothing usable', () => {
  it('stop a job after ten in a row, in whichever slice, and after each resume again', async () => {
    const s = await setting();
    const receipts = await Promise.all([0, 1].map((nth) => s.buy(sendsNothing, slice(nth))));
    expect(s.sent).toHaveLength(10);
    expect(receipts[0]).toMatchObject({ complete: false, nothing: { requests: 10, of: 10, why: 'it is empty' } });
    await s.buy(sendsNothing, slice(2, { failureStop: stop({ since: 2 }) }));
    expect(s.sent).toHaveLength(20);
  });

  it('stop a job of page contents after two requests', async () => {
    const s = await setting();
    const pages = slice(0, { unitsPerRequest: 20, failureStop: stop({ weight: 5 }) });
    expect(await s.buy(sendsNothing, pages)).toMatchObject({ nothing: { requests: 2 } });
    expect(s.sent).toHaveLength(2);
  });

  it('hold back all further requests of a proven job, so that only those in flight are lost', async () => {
    const s = await setting();
    const answers: ((isGood: boolean) => void)[] = [];
    const send = (batch: readonly Unit[]) =>
      new Promise<Bought>((resolve) => answers.push((good) => resolve(good ? success(batch) : holdsNothing(batch))));
    const wanted = slice(0, { units: units(1000), failureStop: stop({ isProven: true }) });
    const ended = s.buy(send, wanted, { inFlight: new InFlight(64) });
    let answered = 0;
    const answer = (isGood: boolean) => answers[answered++]?.(isGood);
    await vi.waitFor(() => expect(answers).toHaveLength(64), soon);
    for (let nth = 0; nth < 40; nth++) answer(true);
    await vi.waitFor(() => expect(answers).toHaveLength(104), soon);
    // One such answer among others costs no more than a moment.
    answer(false);
    answer(true);
    answer(true);
    await vi.waitFor(() => expect(answers).toHaveLength(107), soon);
    for (let nth = 0; nth < 9; nth++) answer(false);
    await vi.waitFor(() => expect(s.journal.totals('')).resolves.toMatchObject({ requests: 52 }), soon);
    expect(answers).toHaveLength(107);
    while (answered < answers.length) answer(false);
    expect(await ended).toMatchObject({ complete: false, nothing: { requests: 10 } });
    expect(s.sent).toHaveLength(107);
  });

  it('stop a job if they are twenty of the first fifty', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length % 2 === 0 ? success(batch) : holdsNothing(batch));
    const receipt = await s.buy(send, slice(0));
    expect(receipt.nothing?.requests).toBe(20);
    expect(receipt.nothing?.of).toBeLessThanOrEqual(50);
  });

  it('do not stop a job whose other answers come in between', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length % 3 === 0 ? holdsNothing(batch) : success(batch));
    const receipt = await s.buy(send, slice(0));
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
  const ended = s.buy(send, slice(0, { failureStop: stop({ onProven }) }));
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

describe.concurrent('transfers that break off', () => {
  const cut = () => failure({ ...answered(200), phase: 'sent', truncated: true });
  const broken = () => Promise.reject(cut());

  it('stop a job that has had no usable answer', async () => {
    for (const [weight, most] of [
      [1, 10],
      [5, 2],
    ] as const) {
      const s = await setting();
      expect(await s.buy(broken, slice(0, { unitsPerRequest: weight, failureStop: stop({ weight }) }))).toMatchObject({
        complete: false,
        unknownOutcomes: most,
      });
      expect(s.sent).toHaveLength(most);
    }
  });

  it('one after the other stop a proven job of page contents after a few requests', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length <= 4 ? success(batch) : broken());
    const failureStop = stop({ weight: 5, isProven: true });
    const pages = slice(0, { units: units(1000), unitsPerRequest: 20, failureStop });
    const receipt = await s.buy(send, pages, { inFlight: new InFlight(1) });
    expect(receipt).toMatchObject({ complete: false, nothing: { why: expect.stringContaining('200') } });
    expect(s.sent.length).toBeLessThanOrEqual(4 + 10);
  });

  it('in the middle of a job are followed by one request at a time', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]): Promise<Bought> => {
      const nth = s.sent.length;
      if (nth <= 40) return success(batch);
      // Transfers break off one after the other, in another order than that of their requests.
      for (let turn = 0; turn < (nth * 7) % 13; turn++) await new Promise(setImmediate);
      throw cut();
    };
    const wanted = slice(0, { units: units(400), failureStop: stop({ isProven: true }) });
    const receipt = await s.buy(send, wanted, { inFlight: new InFlight(12) });
    expect(receipt).toMatchObject({ complete: false, nothing: { why: expect.stringContaining('200') } });
    expect(s.sent.length).toBeLessThanOrEqual(40 + 12 + 10);
  });
});

it.concurrent('a request that a gateway refuses again and again, while others are answered, fails its row', async () => {
  const s = await setting();
  const attempts: (() => void)[] = [];
  const begun = Array.from({ length: 3 }, () => new Promise<void>((resolve) => attempts.push(resolve)));
  let tries = 0;
  const send = async (batch: readonly Unit[]): Promise<Bought> => {
    const index = Number(batch[0]?.unit.match(/\d+/)?.[0]);
    if (index !== 0) {
      await begun[index % 3];
      return success(batch);
    }
    attempts[tries++]?.();
    throw failure({ ...answered(403), unrecognized: true });
  };
  expect(await s.buy(send, { units: units(10), unitsPerRequest: 1 })).toMatchObject({ complete: true, bought: 9 });
  expect(tries).toBe(3);
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
    ['a text for a schema of an object', { outputSchema: { type: 'object' } }, { answer: 'yes' }, true],
    ['a list for a schema of properties', { outputSchema: { properties: {} } }, { answer: ['yes'] }, true],
    ['an object for a schema of a list', { outputSchema: { type: 'array' } }, { answer: { a: 1 } }, true],
    ['a text for a schema of a text', { outputSchema: { type: 'text' } }, { answer: 'yes' }, false],
    ['an error beside no results', { query: 'q' }, { error: { message: 'm' }, results: [] }, true],
    ['an error beside results', { query: 'q' }, { error: 'partly', results: [page] }, false],
    ['an error that is null', { query: 'q' }, { error: null, results: [] }, false],
    ['an answer without fields', { query: 'q' }, { answer: {} }, true],
    ['an answer without elements to a question for a list', { outputSchema: {} }, { answer: [] }, false],
    ['an answer without elements to a question for a text', { query: 'q' }, { answer: [] }, true],
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
  const unnamed = (id: string, error?: object) => ({ id, status: 'error', error });
  const subpage = (text: string | null) => ({
    id: b,
    subpages: [{ id: `${b}x`, url: `${b}x`, text }],
    extras: { links: [a] },
  });
  const same = { id: a, url: a, text: 'x' };
  const named = (id: string) => ({ id, status: 'error', error: { tag: 'CRAWL_NOT_FOUND' } });
  it.each([
    ['named errors', { results: [], statuses: [named(a), named(b)] }, false],
    ['an empty list of results', { results: [], statuses: [] }, false],
    ['successes without pages', { results: [], statuses: [a, b].map((id) => ({ id, status: 'success' })) }, true],
    ['successes without pages and ids', { results: [], statuses: [{ status: 'success' }] }, true],
    ['an error beside an empty list', { results: [], error: 'boom' }, true],
    ['a page of two', { results: [{ id: a, text: 'x' }, { id: b }], statuses: [] }, false],
    ['pages without text', { results: [{ id: a }, { id: b, text: '' }], statuses: [] }, true],
    ['a page without text beside a named error', { results: [{ id: a }], statuses: [named(b)] }, false],
    [
      'errors without a name',
      { results: [], statuses: [unnamed(a), unnamed(b, { tag: ' ', httpStatusCode: null })] },
      true,
    ],
    ['errors of which half have a name', { results: [], statuses: [unnamed(a), named(b)] }, false],
    [
      'errors with an HTTP status',
      { results: [], statuses: [a, b].map((id) => unnamed(id, { httpStatusCode: 404 })) },
      false,
    ],
    [
      'the tag of errors without a name as a name',
      { results: [], statuses: [a, b].map((id) => unnamed(id, { tag: 'CRAWL_UNKNOWN_ERROR' })) },
      false,
    ],
    ['subpages without text', { results: [{ id: a }, subpage(null)], statuses: [] }, true],
    ['a subpage with text', { results: [{ id: a }, subpage('x')], statuses: [] }, false],
    ['one page for all URLs', { results: [same, same, same], statuses: [] }, true],
    ['one page for one of two URLs', { results: [same], statuses: [] }, false],
    ['pages that were not asked for', { results: [{ id: 'https://c.example/', text: 'x' }], statuses: [] }, true],
  ])('contents with %s', async (_, data, nothing) => {
    const answer = { data, misread: [], raw: () => Buffer.from('{}'), rawList: () => null };
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

it.each([
  [[], true],
  [null, true],
  [[{ row_id: 'other', size: 1 }, null, 'h1'], true],
  [[{ row_id: 'h1' }], true],
  [[{ row_id: 'h2', size: null }], false],
])('the rows %j of a run that several rows share', (rows, nothing) => {
  const unit = JSON.stringify({ input: { data: [{ row_id: 'h1' }, { row_id: 'h2' }] } });
  expect(holdsNoRow([null, { structured: { rows } }], unit)).toBe(nothing);
});

it.each([
  ['{"results":null,"costDollars":{"total":0.25}}', 250_000],
  ['{"status":"ok","data":{"results":[],"costDollars":{"total":0.007}}}', 7000],
  ['{"answer":null,"costDollars":0.005}', 5000],
  ['{"costDollars":{"total":"0.1"}}', null],
  ['[{"costDollars"', null],
  ['null', null],
  [null, null],
])('the cost in the unusable body %j is %j', (body, micros) => {
  expect(costInBody(body)).toBe(micros);
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
  const found = { requests: 10, of: 10, why: 'POST /search: 200 OK: not JSON', row: 7, isKept: true };
  expect(nothingPause(found, 'brands')).toEqual({
    reason: 'service',
    message:
      'The last 10 answers have nothing usable: POST /search: 200 OK: not JSON. The answers are kept; to see the last one: searchflow trace brands --row 7 --answer. Check SEARCHFLOW_BASE_URL, the request and the service',
    next: { text: 'To continue', command: 'resume brands' },
  });
  expect(nothingPause({ ...found, requests: 20, of: 41 }, null).message).toMatch(/^20 of the first 41 answers/);
});

describe('warnings of the service', () => {
  const warnings = [{ kind: 'warning', code: 'IGNORED_FIELD', path: '/x', message: 'm' }] as const;
  const warned = (batch: readonly Unit[]): Bought => ({ ...success(batch), warnings });

  it('in the first answers stop a job, unless they are accepted or another process has had the first answers', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => warned(batch);
    expect(await s.buy(send, slice(0))).toMatchObject({ complete: false, stoppedBy: warnings, warnings });
    expect(s.sent.length).toBeLessThanOrEqual(20);
    for (const [nth, failureStop] of [
      [1, stop({ since: 2, acceptWarnings: ['IGNORED_FIELD'] })],
      [2, stop({ since: 3, isProven: true })],
    ] as const) {
      const receipt = await s.buy(send, slice(nth, { failureStop }));
      expect(receipt).toMatchObject({ complete: true, warnings });
      expect(receipt.stoppedBy).toBeUndefined();
    }
  });

  it('in later answers are kept, and stop nothing', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => (s.sent.length > 80 ? warned(batch) : success(batch));
    const receipt = await s.buy(send, slice(0), { inFlight: new InFlight(5) });
    expect(receipt).toMatchObject({ complete: true, warnings });
  });
});
