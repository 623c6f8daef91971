import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import { fieldOf } from '../../api/checks/field-of.js';
import { type FaultDo, type FaultScript, faultLabel } from '../base/fault.js';
import { millisOf, type Settings } from '../base/options.js';
import { badBody, badQuery, check, errorBody, fieldsOf, Refusal, readJson } from '../base/refusal.js';
import { fraction, hashText, mix } from '../base/sentences.js';
import { keyIdOf } from '../ledger/key-usage.js';
import type { Route, RouteAnswer, Router } from '../route.js';
import type { World } from '../world.js';
import { cut, deliver, type Reply } from './deliver.js';
import type { RateGate } from './rate-gate.js';
import type { OpenEntry, RequestLog } from './request-log.js';

/** The parts that serve a request. */
export interface ExchangeParts {
  readonly log: RequestLog;
  readonly gate: RateGate;
  readonly script: FaultScript;
  readonly world: World;
  readonly router: Router;
  /** Does the work that is due. */
  readonly advance: () => void;
}

/** A request in progress. */
interface Served {
  readonly request: IncomingMessage;
  readonly entry: OpenEntry;
  readonly requestId: string;
  fault: FaultDo | null;
}

/**
 * Handles a request from its headers to its answer, in this order: log, key, rate limit, fault, body, latency, work, purchase log, answer.
 */
export function createExchange(parts: ExchangeParts): RequestListener {
  const { log, world } = parts;
  const nextRequestId = world.ids('');
  return async (request, response) => {
    const { method = 'GET', url = '/' } = request;
    const entry = log.open(method, url.split('?', 1)[0] as string);
    const served: Served = { request, entry, requestId: nextRequestId(), fault: null };
    try {
      const reply = await answer(parts, served).catch((error: unknown) => refusalReply(served, error));
      log.done(entry, await deliver(response, reply, served.fault, world.timers));
    } catch {
      // The client has disconnected or its connection is broken, so no answer can be sent.
      log.done(entry, cut(response));
    }
  };
}

/** Returns null if the connection must be closed. Throws a {@link Refusal} for a refused request. */
async function answer(parts: ExchangeParts, served: Served): Promise<Reply | null> {
  const { gate, script, log } = parts;
  const { options, ledger, timers } = parts.world;
  const { request, entry } = served;
  const { method, path } = entry;
  const found = parts.router(method, path);
  checkAccess(request, path, options);
  const early = method === 'POST' && gate.needsBody(path) ? { input: await readJson(request) } : null;
  const key = keyOf(request.headers);
  const rated = { path, weight: found?.route.weight ?? 1, type: fieldOf(early?.input, 'type'), key };
  const limit = gate.admit(early ? log.now() : entry.at, rated);
  if (limit !== null) throw tooFast(options, entry, limit);
  const fault = script.next(method, path, entry.at)?.do ?? null;
  served.fault = fault;
  entry.fault = fault && faultLabel(fault);
  if (fault?.kind === 'reset' && fault.moment === 'before') return null;
  const replacement = fault?.kind === 'status' || fault?.kind === 'body' ? fault : null;
  if (replacement && !replacement.charged) return faultReply(served, replacement);
  if (!found) throw new Refusal(404, `No ${method} ${path}`);
  const { route, params } = found;
  const input = early ? early.input : method === 'GET' ? undefined : await readJson(request);
  const body = route.body && check(route.body, input, badBody);
  const fields = fieldsOf(new URL(request.url ?? '/', 'http://localhost').searchParams);
  const query = route.query && check(route.query, fields, badQuery);
  await timers.wait(millisOf(options.latencyMs, fraction(mix(entry.n, options.seed), 63)));
  if (timers.stopped) return null;
  parts.advance();
  const { requestId } = served;
  const work = route.work({ requestId, headers: request.headers, params, body, input, query });
  if (work.purchase) {
    ledger.sell({ ...work.purchase, key: key === null ? undefined : keyIdOf(key) });
    entry.units = work.purchase.units.length;
  }
  return replacement ? faultReply(served, replacement) : workReply(served, work, route, options);
}

function workReply({ requestId, fault }: Served, work: RouteAnswer, route: Route, { headerPrefix }: Settings): Reply {
  const { status = 200, frames, json } = work;
  const queued = { [`${headerPrefix}-queued`]: 'false', [`${headerPrefix}-queue-ms`]: '0' };
  const headers = { 'x-request-id': requestId, ...(route.queued ? queued : {}), ...work.headers };
  if (frames) {
    const ofStream = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
    return { status, headers: { ...headers, ...ofStream }, body: frames };
  }
  if (fault?.kind === 'results') changeResults(json, fault.change);
  return { status, headers: { ...jsonType, ...headers }, body: Buffer.from(JSON.stringify(json)) };
}

const jsonType = { 'content-type': 'application/json; charset=utf-8' };

/** The answer to a refused request. An error that is not a {@link Refusal} gives a 500. In both cases nothing was recorded. */
function refusalReply({ entry, requestId }: Served, error: unknown): Reply {
  const refusal = error instanceof Refusal ? error : new Refusal(500, String(error));
  const body = errorBody(refusal, entry.path, requestId);
  const type = typeof body === 'string' ? { 'content-type': 'text/plain; charset=utf-8' } : jsonType;
  const headers = { ...type, 'x-request-id': requestId, ...refusal.details.headers };
  return { status: refusal.status, headers, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
}

/** The answer of a fault, instead of the true one. */
function faultReply(served: Served, fault: Extract<FaultDo, { kind: 'status' | 'body' }>): Reply {
  if (fault.kind === 'body') {
    const { status = 200, body, contentType = 'text/html; charset=utf-8' } = fault;
    const headers = { 'content-type': contentType, 'x-request-id': served.requestId, ...fault.headers };
    return { status, headers, body: Buffer.from(body) };
  }
  const { status, tag, envelope, retryAfter } = fault;
  const headers = { ...fault.headers, ...(retryAfter === undefined ? {} : { 'retry-after': headerText(retryAfter) }) };
  return refusalReply(served, new Refusal(status, 'A fault of the fault script', { tag, envelope, headers }));
}

type Item = Record<string, unknown> & { readonly url?: string; readonly id?: string };

/**
 * Changes the `results` of an answer, or the `data` of a list. Other answers do not change. A client that matches results by
 * position, or relies on their number, then fails.
 */
function changeResults(json: unknown, change: Extract<FaultDo, { kind: 'results' }>['change']): void {
  const answer = json as { results?: Item[]; data?: Item[]; statuses?: Item[]; notices?: unknown };
  const items = answer.results ?? answer.data;
  if (!Array.isArray(items)) return;
  const { statuses } = answer;
  const [first] = items;
  const url = 'https://nobody-asked.example/';
  const shuffle = (list: Item[] | undefined, seed: number) => {
    const hash = (one: Item) => hashText(one.url ?? one.id ?? '', seed);
    list?.sort((left, right) => hash(left) - hash(right));
  };
  if (change === 'shuffle') {
    shuffle(items, 3);
    shuffle(statuses, 5);
  }
  if (change === 'repeat' && first) items.push(first);
  if (change === 'lose') items.shift();
  if (change === 'add') {
    items.unshift({ id: url, url, title: 'Not asked for', text: 'Nobody asked for this page.' });
    statuses?.unshift({ id: url, status: 'success', source: 'cached' });
  }
  if (change === 'unknown') {
    for (const one of items) one.novelty = { nested: [null, '', 0] };
    statuses?.push({ id: url, status: 'deferred', error: null });
    answer.notices = [{ code: 'NEW' }];
  }
}

/** The key of a request: `x-api-key`, or `Authorization` with the Bearer scheme. */
function keyOf(headers: IncomingHttpHeaders): string | null {
  const direct = headers['x-api-key'];
  if (typeof direct === 'string' && direct !== '') return direct;
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The x402 challenge for a request without a key. */
function challenge(path: string, baseUrl: string): Refusal {
  const price = { scheme: 'exact', network: 'eip155:84532', amount: '7000', maxTimeoutSeconds: 60, extra: {} };
  const terms = {
    x402Version: 2,
    resource: { url: `${baseUrl}${path}`, description: `One call of POST ${path}`, mimeType: 'application/json' },
    accepts: [{ ...price, asset: `0x${'0'.repeat(40)}`, payTo: `0x${'1'.padStart(40, '0')}` }],
  };
  return new Refusal(402, 'Payment is required: send an API key, or pay for this request', {
    tag: 'X402_PAYMENT_REQUIRED',
    extra: terms,
    headers: { 'payment-required': Buffer.from(JSON.stringify(terms)).toString('base64') },
  });
}

/** Throws the {@link Refusal} for a request without a valid key. */
function checkAccess({ headers, socket }: IncomingMessage, path: string, options: Settings): void {
  const key = keyOf(headers);
  const isService = path.startsWith('/team-management/');
  if (key === null && options.x402 && (path === '/search' || path === '/contents')) {
    throw challenge(path, `http://127.0.0.1:${socket.localPort}`);
  }
  const keys = isService ? (options.serviceKey === null ? null : [options.serviceKey]) : options.keys;
  if (key !== null && (keys === null || keys.includes(key))) return;
  if (isService) throw new Refusal(401, 'The service key is not valid');
  throw new Refusal(401, key === null ? 'The request has no API key' : 'The API key is not valid');
}

function tooFast({ retryAfter, retryAfterSeconds }: Settings, entry: OpenEntry, limit: string): Refusal {
  entry.limited = true;
  const value = retryAfter === 'seconds' ? String(retryAfterSeconds) : headerText(`date+${retryAfterSeconds}`);
  const headers: Record<string, string> = retryAfter === 'none' ? {} : { 'retry-after': value };
  return new Refusal(429, `You have exceeded the limit of ${limit}`, { headers });
}

/** A `Retry-After`: `date+3` becomes an HTTP-date three seconds in the future, `date-3` one three seconds in the past. */
function headerText(text: string): string {
  const [, ahead] = /^date([+-]\d+)$/.exec(text) ?? [];
  return ahead === undefined ? text : new Date(Math.ceil(Date.now() / 1000 + Number(ahead)) * 1000).toUTCString();
}
