import { z } from 'zod';
import { fraction, mix } from './sentences.js';

const count = z.number().int().positive();
const ms = z.number().nonnegative();
const whole = z.number().int().nonnegative().optional();
const share = z.number().min(0).max(1).optional();
const status = z.number().int().min(200).max(599);
const headers = z.record(z.string(), z.string()).optional();

const whenSchema = z
  .strictObject({
    nth: count.optional(),
    every: count.optional(),
    probability: share,
    seed: z.number().int().optional(),
    method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']).optional(),
    path: z.string().startsWith('/').optional(),
    fromMs: ms.optional(),
    untilMs: ms.optional(),
  })
  .refine(
    (when) => [when.nth, when.every, when.probability].filter((one) => one !== undefined).length <= 1,
    'use only one of nth, every and probability',
  );

const doSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('status'),
    status,
    tag: z.string().optional(),
    retryAfter: z.string().optional(),
    envelope: z.enum(['standard', 'agent', 'text']).optional(),
    headers,
    charged: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal('reset'), moment: z.enum(['before', 'after']) }),
  z.strictObject({
    kind: z.literal('truncate'),
    bytes: whole,
    fraction: share,
    framing: z.enum(['length', 'chunked']).optional(),
  }),
  z.strictObject({ kind: z.literal('stall'), moment: z.enum(['headers', 'body']), ms }),
  z.strictObject({
    kind: z.literal('body'),
    body: z.string(),
    contentType: z.string().optional(),
    status: status.optional(),
    headers,
    charged: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal('results'), change: z.enum(['shuffle', 'repeat', 'lose', 'add', 'unknown']) }),
  z.strictObject({ kind: z.literal('drip'), bytes: count.optional(), everyMs: ms.optional() }),
  z.strictObject({
    kind: z.literal('cut-stream'),
    events: z.number().int().min(-1).optional(),
    bytes: whole,
    insideCharacter: z.boolean().optional(),
    how: z.enum(['end', 'reset', 'clean']).optional(),
  }),
  z.strictObject({ kind: z.literal('silent-stream'), events: whole, ms, comments: z.boolean().optional() }),
  z.strictObject({
    kind: z.literal('frames'),
    change: z.enum(['duplicate', 'reorder', 'unknown', 'huge']),
    bytes: count.optional(),
  }),
]);

const faultSchema = z.strictObject({ when: whenSchema, do: doSchema, limit: count.optional() });

/** The form of the `faults` option and of `POST /__sandbox/faults`. */
export const faultsSchema = z.array(faultSchema);

/**
 * Condition of a fault. Only requests that passed the key check and the rate limit count. With `method` and `path`, only requests that
 * match count; a segment `*` of the path matches any segment, as in `/agent/runs/*`. Times count from the moment when the faults were set.
 * `nth`: only the request with this number; `every`: each multiple of this number; `probability`: a seeded random choice for each request,
 * the same in every run. If none of these three is set, the fault applies to each request.
 */
export type FaultWhen = z.infer<typeof whenSchema>;

/**
 * Effect of a fault. "Charged" means that the work is done and recorded before the effect. Defaults are in parentheses.
 * - `status`: sends this status instead of an answer. `retryAfter` is sent unchanged, but `date+3` becomes the HTTP-date in three
 *   seconds. With `charged: true` the request is charged first.
 * - `reset`: the connection is reset `before` any work, or `after` the work was charged.
 * - `truncate`: charged. The body stops after `bytes`, or after a `fraction` of the body (0.5), and the connection ends. `framing`: the
 *   Content-Length is that of the whole body, or the body is sent in chunks without the last one.
 * - `stall`: charged. Nothing is sent for `ms`, before the headers or in the middle of the body.
 * - `body`: sends this body (HTML) instead of an answer, with this status (200). Charged only with `charged: true`.
 * - `results`: charged. The answer's `results`, or the `data` of a list, are changed: they are shuffled (with the `statuses`), the first
 *   one is repeated, the first one is lost, an extra one is added, or unknown fields and an unknown status are added.
 * - `drip`: charged. The body is sent `bytes` (1) at a time, every `everyMs` (1000).
 * - `cut-stream`: an event stream ends after `events` (1) or `bytes`. With `events: -1` all frames except the last one are sent.
 *   `insideCharacter`: the cut is at the next position inside a letter of several bytes. `how`: the connection ends (`end`) or is reset
 *   (`reset`), or the stream ends as if it were whole (`clean`).
 * - `silent-stream`: after `events` (0), nothing is sent for `ms`, or only `comments`.
 * - `frames`: each frame of a stream is sent twice, each pair of frames is sent in the wrong order, an unknown frame is sent before each
 *   one, or a first frame of `bytes` (5 MB) is added.
 *
 * `cut-stream`, `silent-stream` and `frames` change only streams. `truncate`, `stall` and `drip` apply to streams where they can.
 */
export type FaultDo = z.infer<typeof doSchema>;

/** A fault, declared as data. `limit`: maximum number of requests that it applies to. */
export type Fault = z.infer<typeof faultSchema>;

const whenNames = new Set(Object.keys(whenSchema.shape));

/**
 * Reads one fault from a command line: JSON, or words such as `every=20 kind=status status=429 retryAfter=3` and `probability=0.01 seed=7
 * kind=reset moment=after limit=5`. Throws an error whose message says what is wrong with which field.
 */
export function parseFault(text: string): Fault {
  const isJson = text.trimStart().startsWith('{');
  try {
    const parsed = faultSchema.safeParse(isJson ? JSON.parse(text) : fromWords(text));
    if (parsed.success) return parsed.data;
    throw new Error(z.prettifyError(parsed.error));
  } catch (error) {
    throw new Error(`invalid fault: ${text}\n${(error as Error).message}`);
  }
}

function fromWords(text: string): unknown {
  const when: Record<string, unknown> = {};
  const action: Record<string, unknown> = {};
  const fault: Record<string, unknown> = { when, do: action };
  for (const word of text.trim().split(/\s+/)) {
    const equals = word.indexOf('=');
    if (equals < 1) throw new Error(`"${word}" is not name=value`);
    const name = word.slice(0, equals);
    const target = name === 'limit' ? fault : whenNames.has(name) ? when : action;
    target[name] = fromWord(name, word.slice(equals + 1));
  }
  return fault;
}

/** Fields for text stay text, even if the value looks like a number. */
function fromWord(name: string, value: string): unknown {
  if (name === 'retryAfter' || name === 'body' || name === 'tag') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  return value !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** Short name of the effect of a fault, for the request log: `status:503`, `reset:after`, `results:lose`, `cut-stream`. */
export function faultLabel(action: FaultDo): string {
  if (action.kind === 'status') return `status:${action.status}`;
  if ('change' in action) return `${action.kind}:${action.change}`;
  return 'moment' in action ? `${action.kind}:${action.moment}` : action.kind;
}

interface Line {
  readonly fault: Fault;
  seen: number;
  struck: number;
}

/** Whether a fault with this condition applies to the matching request with the number `seen`. */
function strikes(when: FaultWhen, seen: number): boolean {
  if (when.nth !== undefined) return seen === when.nth;
  if (when.every !== undefined) return seen % when.every === 0;
  if (when.probability !== undefined) return fraction(mix(seen, when.seed ?? 0), 61) < when.probability;
  return true;
}

/** Whether a path matches the pattern. The segment `*` matches any segment. */
function isPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const actual = path.split('/');
  return wanted.length === actual.length && wanted.every((one, index) => one === '*' || one === actual[index]);
}

/**
 * Chooses the fault of a request. Every fault counts its matching requests separately. If several faults apply to one request,
 * the first declared one is used.
 */
export class FaultScript {
  #lines: Line[] = [];
  #since = 0;

  /** Replaces the script; counts and times start at `now` (ms). */
  set(faults: readonly Fault[], now: number): void {
    this.#lines = faults.map((fault) => ({ fault, seen: 0, struck: 0 }));
    this.#since = now;
  }

  /** Keeps the faults and restarts their counts and times. */
  rewind(now: number): void {
    const faults = this.#lines.map(({ fault }) => fault);
    this.set(faults, now);
  }

  next(method: string, path: string, now: number): Fault | null {
    const at = now - this.#since;
    let chosen: Line | null = null;
    for (const line of this.#lines) {
      const { when, limit } = line.fault;
      if (when.method !== undefined && when.method !== method) continue;
      if (when.path !== undefined && !isPath(when.path, path)) continue;
      if (at < (when.fromMs ?? 0) || at >= (when.untilMs ?? Number.POSITIVE_INFINITY)) continue;
      line.seen += 1;
      if (!chosen && line.struck < (limit ?? Number.POSITIVE_INFINITY) && strikes(when, line.seen)) chosen = line;
    }
    if (!chosen) return null;
    chosen.struck += 1;
    return chosen.fault;
  }
}
