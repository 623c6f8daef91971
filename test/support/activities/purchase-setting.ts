import { join } from 'node:path';
import { afterAll } from 'vitest';
import { AccountBreaker, CircuitBreaker } from '../../../src/activities/call/circuit-breaker.js';
import { InFlight } from '../../../src/activities/call/in-flight.js';
import type { PurchaseDeps } from '../../../src/activities/purchase/journal-writes.js';
import { createPurchase } from '../../../src/activities/purchase/purchase.js';
import type {
  Bought,
  Control,
  PurchaseRequest,
  Receipt,
  Unit,
} from '../../../src/activities/purchase/purchase-request.js';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import type { CallFacts } from '../../../src/core/purchase/failure.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import type { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { folderOfFile } from '../files/folders.js';
import { idleLimiter } from '../store/idle-limiter.js';

const root = folderOfFile();
const open: FileJournal[] = [];
afterAll(async () => {
  for (const journal of open) await journal.close();
});
let count = 0;
/** A path that no other test uses. */
export const newDir = () => join(root, String(++count));

export const keyOf = (url: string) => Buffer.from(url.padEnd(16, '.')).toString('hex').slice(0, 32);
export const unit = (name: string): Unit => ({ key: keyOf(name), unit: name });
export const units = (number: number, from = 0): Unit[] =>
  Array.from({ length: number }, (_, index) => unit(`u${from + index}`));

export const answered = (status: number, tag: string | null = null, retryAfterMs: number | null = null): CallFacts => ({
  phase: 'answer',
  status,
  tag,
  retryAfterMs,
});
export const failure = (facts: CallFacts, serverMessage = '') =>
  new ApiError({ endpoint: contentsEndpoint, facts, serverMessage });
export const cutOff: CallFacts = { phase: 'sent', status: null, tag: null, retryAfterMs: null };

export function success(batch: readonly Unit[], costMicros: number | null = batch.length * 1000): Bought {
  return {
    requestId: 'req',
    costMicros,
    units: batch.map((one) => ({
      ...one,
      status: 'success',
      errorTag: null,
      httpStatus: null,
      source: null,
      result: { url: one.unit },
    })),
  };
}

type Send = (batch: readonly Unit[], signal: AbortSignal) => Promise<Bought>;
/** A service that answers every request. */
export const good: Send = async (batch) => success(batch);

export interface Setting extends PurchaseDeps {
  readonly journal: FileJournal;
  readonly limiter: MemoryLimiter;
  readonly sent: string[][];
  readonly stop: AbortController;
  readonly cut: AbortController;
  readonly control: Control;
  request(send: Send, changes?: Partial<PurchaseRequest>): PurchaseRequest;
  /** Buys the units of a request. `others`: parts that replace those of the setting. */
  buy(send: Send, changes?: Partial<PurchaseRequest>, others?: Partial<PurchaseDeps & Control>): Promise<Receipt>;
}

/** The real parts of a purchase with the shortest waits; the service is a function. */
export async function setting(dir = newDir()): Promise<Setting> {
  const journal = await FileJournal.open(dir, { writes: true });
  open.push(journal);
  const stop = new AbortController();
  const cut = new AbortController();
  const sent: string[][] = [];
  const s: Setting = {
    journal,
    limiter: idleLimiter(),
    inFlight: new InFlight(50),
    health: new CircuitBreaker(),
    accountBreaker: new AccountBreaker(),
    // With 0 the backoff chooses its shortest waits.
    random: () => 0,
    sent,
    stop,
    cut,
    control: { stop: stop.signal, cut: cut.signal, yieldAfterMs: 30_000 },
    request: (send, changes) => ({
      segment: 'job/gen/000000',
      owner: `owner-${++count}`,
      operation: 'contents',
      rateCost: { rateClass: 'contents', weight: 1 },
      units: units(3),
      unitsPerRequest: 100,
      estimateMicros: (batch) => batch.length * 1000,
      send: (batch, { signal }) => {
        sent.push(batch.map((one) => one.unit));
        return send(batch, signal);
      },
      timeoutMs: 1000,
      resumedAt: 0,
      refused: 'record',
      ...changes,
    }),
    buy: (send, changes, others = {}) => {
      const hasParts = Object.keys(others).some((name) => name in s);
      const buys = hasParts ? createPurchase({ ...s, ...others }) : purchase;
      return buys(s.request(send, changes), { ...s.control, ...others });
    },
  };
  const purchase = createPurchase(s);
  return s;
}
