import { expect, test } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { closeAfterTest } from '../../support/after-test.js';
import { get, post, raw, urls } from '../../support/sandbox/client.js';

const start = async (options: Partial<SandboxOptions> = {}) =>
  closeAfterTest(await startSandbox({ failureRate: 0, ...options }));

test('both auth headers are accepted, with any key or with the listed ones', async () => {
  const sandbox = await start({ keys: ['good'] });
  const statusWith = async (headers: Record<string, string>) =>
    (await post(sandbox, '/contents', { urls: urls(1) }, headers)).status;
  expect(await statusWith({ 'x-api-key': 'good' })).toBe(200);
  expect(await statusWith({ authorization: 'Bearer good' })).toBe(200);
  expect(await statusWith({ 'x-api-key': 'bad' })).toBe(401);
  expect(await statusWith({ authorization: 'Basic good' })).toBe(401);
  const { status, headers, json } = await post(sandbox, '/contents', { urls: urls(1) }, {});
  expect(status).toBe(401);
  expect(json).toEqual({ requestId: headers['x-request-id'], error: expect.any(String), tag: 'INVALID_API_KEY' });
});

test('agent paths have their own error envelope', async () => {
  const sandbox = await start();
  const errors = [
    await post(sandbox, '/agent/runs', { query: 'q' }, {}),
    await post(sandbox, '/agent/runs', {}),
    await post(sandbox, '/agent/runs', '{'),
    await get(sandbox, '/agent/runs/agent_run_1'),
  ];
  expect(errors.map(({ status, json }) => [status, json.error.type, json.error.code])).toEqual([
    [401, 'AUTHENTICATION_ERROR', 'TEAM_NOT_FOUND'],
    [400, 'INVALID_REQUEST', 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST', 'INVALID_REQUEST'],
    [404, 'NOT_FOUND', 'RUN_NOT_FOUND'],
  ]);
});

test.each([
  ['malformed JSON', '{"urls":', 400, 'INVALID_REQUEST_BODY'],
  ['a body that is null', 'null', 400, 'INVALID_REQUEST_BODY'],
  ['no URLs', { text: true }, 400, 'INVALID_URLS'],
  ['a hundred and one URLs', { urls: urls(101) }, 400, 'INVALID_REQUEST_BODY'],
  ['a URL of 2049 letters', { urls: [`https://a.example/${'x'.repeat(2031)}`] }, 400, 'INVALID_REQUEST_BODY'],
  ['urls and ids', { urls: urls(1), ids: urls(1) }, 400, 'INVALID_REQUEST_BODY'],
  ['an unknown livecrawl', { urls: urls(1), livecrawl: 'maybe' }, 400, 'INVALID_REQUEST_BODY'],
  ['an age of 721 hours', { urls: urls(1), maxAgeHours: 721 }, 400, 'INVALID_REQUEST_BODY'],
  ['too many subpages in all', { urls: urls(11), subpages: 10 }, 400, 'SUBPAGES_LIMIT_EXCEEDED'],
  ['more than 10 MB', `{"urls":["${'x'.repeat(10 * 1024 * 1024)}"]}`, 413, 'INVALID_REQUEST_BODY'],
])('%s is refused and costs nothing', async (_, body, status, tag) => {
  const sandbox = await start();
  const seen = await post(sandbox, '/contents', body);
  expect([seen.status, seen.json.tag]).toEqual([status, tag]);
  expect(sandbox.bill()).toMatchObject({ requests: 0, dollars: 0 });
});

test('a request without credits is a 402 and is not charged, until there are new ones', async () => {
  const sandbox = await start({ credits: 0.005 });
  const buy = async (count: number) => (await post(sandbox, '/contents', { urls: urls(count) })).json;
  expect((await buy(3)).costDollars.total).toBe(0.003);
  expect((await buy(3)).tag).toBe('NO_MORE_CREDITS');
  expect((await buy(2)).costDollars.total).toBe(0.002);
  expect((await buy(1)).tag).toBe('NO_MORE_CREDITS');
  expect((await post(sandbox, '/__sandbox/credits', { dollars: 0.001 })).status).toBe(200);
  expect((await buy(1)).costDollars.total).toBe(0.001);
  expect(sandbox.bill().dollars).toBe(0.006);
  sandbox.setCredits(null);
  expect((await buy(100)).costDollars.total).toBe(0.1);
});

test('mistakes in the options are named together', async () => {
  const sandbox = await start();
  const wrong = { qps: 0.5, latencyMs: { min: 5, max: 1 }, colour: 'red' };
  await expect(startSandbox(wrong)).rejects.toThrow(/qps[\s\S]*latencyMs|latencyMs[\s\S]*qps/);
  await expect(startSandbox({ port: sandbox.port })).rejects.toThrow('EADDRINUSE');
});

test('closing ends waiting requests and charges none of them', async () => {
  const sandbox = await start({ latencyMs: 60_000 });
  const waiting = raw(sandbox, '/contents', { urls: urls(1) });
  await expect.poll(() => sandbox.log().length).toBe(1);
  await sandbox.close();
  expect((await waiting).pieces).toEqual([]);
  expect(sandbox.bill().requests).toBe(0);
});

test('the control paths are for this machine, and for no page of another site', async () => {
  const sandbox = await start();
  const { host } = new URL(sandbox.url);
  const statusWith = async (headers: Record<string, string>) =>
    (await post(sandbox, '/__sandbox/credits', { dollars: 0 }, headers)).status;
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { host: 'evil.example' },
    { host: `127.0.0.1.evil.example:${sandbox.port}`, origin: `http://127.0.0.1.evil.example:${sandbox.port}` },
  ];
  for (const headers of foreign) expect([headers, await statusWith(headers)]).toEqual([headers, 403]);
  expect(await statusWith({ origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await statusWith({ host: `localhost:${sandbox.port}` })).toBe(200);
});
