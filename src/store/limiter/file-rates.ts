import { readFileSync } from 'node:fs';
import type { BucketState } from '../../core/limiter/rate-queue.js';
import { Serial } from '../../core/processes/serial.js';
import { LockedText } from '../../files/locked-text.js';
import { writeDurably } from '../../files/write-durably.js';
import { UNUSED_MS } from './memory-limiter.js';
import type { Buckets, RateState, RateStore } from './shared-rates.js';

/** A clock that all processes of a machine share and that cannot be set, in ms. It begins with the machine. */
const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * The state of a limit in files, for all processes of this machine. `bucketsPath`: the buckets of the limit. `blockPath`: the block of the
 * team, whose limit may be divided into shares. Missing files mean that no process has used the limit.
 */
export function fileRates(bucketsPath: string, blockPath: string): RateStore {
  const own = new Serial();
  const kept = new LockedText(bucketsPath);
  const stateOf = (text: string): RateState => {
    const [now, at] = [machineNow(), performance.now()];
    return { now, askedAt: at, answeredAt: at, ...bucketsOf(text, now), block: readBlock(blockPath, now) };
  };
  const save = (until: number, reason: string) =>
    writeDurably(blockPath, JSON.stringify({ until, at: Date.now(), reason }));
  const use = <T>(work: (state: RateState) => readonly [result: T, text: string | null], signal?: AbortSignal) =>
    own.run(() => kept.change((text) => work(stateOf(text)), signal));
  return {
    change: (work, signal) =>
      use((state) => {
        const result = work(state);
        return [{ result, state }, JSON.stringify(state.buckets)];
      }, signal),
    look: (signal) => use((state) => [state, null], signal),
    hold: (until, reason) =>
      own.run(async () => {
        const now = machineNow();
        if (until <= (readBlock(blockPath, now)?.until ?? 0)) return;
        await save(Date.now() + until - now, reason);
      }),
    lift: () => own.run(() => save(0, '')),
    close: () => own.run(async () => kept.close()),
  };
}

/** If the text is damaged, or older than the start of the machine, the last second counts as used. */
function bucketsOf(text: string, now: number): Pick<RateState, 'buckets' | 'unusedMs'> {
  if (text === '') return { buckets: {}, unusedMs: UNUSED_MS };
  try {
    const buckets = JSON.parse(text) as Buckets;
    if (Object.values(buckets).every((bucket) => isBucket(bucket, now))) return { buckets, unusedMs: UNUSED_MS };
  } catch {
    // Another program wrote the file, or a write was interrupted.
  }
  return { buckets: {}, unusedMs: 0 };
}

function isBucket({ ring, turns, ...amounts }: BucketState, now: number): boolean {
  const times = [...ring, ...turns.map(({ due }) => due)];
  const numbers = [...times, ...Object.values(amounts)];
  return ring.length > 0 && numbers.every(Number.isFinite) && times.every((time) => time < now + UNUSED_MS);
}

/** The block of the team. If the file cannot be read, there is no block. */
function readBlock(path: string, now: number): RateState['block'] {
  try {
    const { until, at, reason } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    if (typeof until !== 'number') return null;
    const wall = Date.now();
    const since = typeof at === 'number' ? at : wall;
    // If the clock was set back, the block must not become longer.
    const end = Math.min(until, wall + until - since);
    return end > wall ? { since: now + since - wall, until: now + end - wall, reason: String(reason) } : null;
  } catch {
    return null;
  }
}
