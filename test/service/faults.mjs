// Faults of calls. `how`:
//   reset    the connection is cut before any work       status   `status`, `headers` and `body` are answered without any work
//   lost     the work is done, the connection is cut     failed   the work is done, the answer is 500 (with `body`)
//   cut      the work is done, half of the answer comes  hold     the work is done, the answer waits for the promise `until`
//   slow     the work is done, the answer waits `ms`     stall    the work is done, half of the answer comes, then nothing
//   html     200 with a page of HTML, without any work   empty    200 without a body, the work is done
// A route may have failures of its own: after the work they are answered with 500 and a body. A fault that is a number stands for
// `{ how: 'status', status }`, one that is a text for `{ how }`.
import { hashOf, mix } from './chance.mjs';

export function faultFrom(fault) {
  if (fault === undefined || fault === null || fault === 'ok') return null;
  if (typeof fault === 'number') return { how: 'status', status: fault };
  return typeof fault === 'string' ? { how: fault } : fault;
}

/**
 * Returns the fault of each call by its number. The order of the faults is the same on every run and does not depend on the kinds of calls.
 */
export function byChance(faults) {
  return (call) => faults[(Math.imul(call + 1, 0x9e3779b1) >>> 16) % faults.length];
}

const isFor = ({ what }, { noun, kind }) => what === undefined || what === noun || what === kind;

/** Decides the fault of each call. Queued faults of the call's kind come first, then the function that a test set, then the rules. */
export class FaultScript {
  #queued = [];
  #rules;
  /** `(call, method, path)`; calls are numbered from 1. */
  decide = null;

  /** A rule affects a share of the calls of its kind (`share`, by `seed`), or one of `every` calls. */
  constructor(rules = []) {
    this.#rules = rules.map((rule) => ({ seed: 1, ...rule, calls: 0 }));
  }

  next(...faults) {
    this.#queued.push(...faults);
  }

  faultOf(call, method, path, route) {
    const at = this.#queued.findIndex((fault) => isFor(fault, route));
    if (at >= 0) return this.#queued.splice(at, 1)[0];
    const fault = this.decide?.(call, method, path);
    if (fault !== undefined) return fault;
    const hits = this.#rules.filter((rule) => {
      if (!isFor(rule, route)) return false;
      rule.calls++;
      if (rule.every !== undefined) return rule.calls % rule.every === 0;
      return mix(hashOf(`${rule.seed} ${rule.calls}`)) / 2 ** 32 < (rule.share ?? 1);
    });
    return hits[0] ?? null;
  }
}

/** Sends an answer with its fault. */
export async function sendAs(fault, { request, response, status, headers, body }) {
  const whole = typeof body === 'string' ? body : JSON.stringify(body);
  if (fault?.how === 'hold') await fault.until;
  if (fault?.how === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.ms));
  if (fault?.how === 'lost') return void request.socket.destroy();
  response.writeHead(
    status,
    fault?.how === 'cut' ? { ...headers, 'content-length': Buffer.byteLength(whole) } : headers,
  );
  if (fault?.how === 'empty') return void response.end();
  if (fault?.how !== 'cut' && fault?.how !== 'stall') return void response.end(whole);
  response.write(whole.slice(0, whole.length >> 1), () => fault.how === 'cut' && request.socket.destroy());
}
