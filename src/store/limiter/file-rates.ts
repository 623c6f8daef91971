import { readFileSync } from 'node:fs';
import { codeOfError } from '../../core/errors/code-of.js';
import { UsageError } from '../../core/errors/coded-error.js';
import type { BucketState } from '../../core/limiter/rate-queue.js';
import { Serial } from '../../core/processes/serial.js';
import { LockedText } from '../../files/locked-text.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import { UNUSED_MS } from './memory-limiter.js';
import type { Buckets, RateState, RateStore } from './shared-rates.js';

/** A clock that all processes of a machine share and that cannot be set, in ms. It begins with the machine. */
const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** How long a process waits for another that writes the block, in ms. */
const BLOCK_WAIT_MS = 10_000;

/**
 * The state of a limit in files, for all processes of this machine. `bucketsPath`: the buckets of the limit. `blockPath`: the block of the
 * team, whose limit may be divided into shares. Missing files mean that no process has used the limit. Throws `UsageError` here and later if a
 * file cannot be used.
 */
export function fileRates(bucketsPath: string, blockPath: string): RateStore {
  const own = new Serial();
  const run = <T>(work: () => Promise<T>) =>
    own.run(() =>
      work().catch((error: unknown) => {
        throw unusable(error);
      }),
    );
  const kept = openText(bucketsPath);
  let isKnown = false;
  const stateOf = (text: string): RateState => {
    const [now, at] = [machineNow(), performance.now()];
    const buckets = bucketsOf(text, now, isKnown);
    return { now, askedAt: at, answeredAt: at, ...buckets, block: readBlock(blockPath, now) };
  };
  /** Writes the block of the team, if it lasts longer than the one that is there. */
  const save = (until: number, reason: string) => {
    const work = async () => {
      const now = machineNow();
      if (reason !== '' && until <= (readBlock(blockPath, now)?.until ?? 0)) return;
      const block = { at: Date.now(), until: Date.now() + until - now, machineUntil: until, reason };
      await writeDurably(blockPath, JSON.stringify(block));
    };
    return run(() => withLock(`${blockPath}.lock`, work, { waitMs: BLOCK_WAIT_MS, passing: true }));
  };
  const use = <T>(work: (state: RateState) => readonly [result: T, text: string | null], signal?: AbortSignal) => {
    const known = (text: string) => {
      const done = work(stateOf(text));
      isKnown ||= text !== '' || done[1] !== null;
      return done;
    };
    return run(() => kept.change(known, signal));
  };
  return {
    change: (work, signal) =>
      use((state) => {
        const result = work(state);
        return [{ result, state }, JSON.stringify(state.buckets)];
      }, signal),
    look: (signal) => use((state) => [state, null], signal),
    hold: save,
    lift: () => save(0, ''),
    close: () => own.run(async () => kept.close()),
  };
}

function openText(path: string): LockedText {
  try {
    return new LockedText(path);
  } catch (error) {
    throw unusable(error);
  }
}

/** A refusal of the system ends the job with one sentence, because another attempt would be refused as well. Other errors stay. */
function unusable(error: unknown): unknown {
  const code = codeOfError(error);
  if (code !== 'file-refused' && code !== 'disk-full' && code !== 'state-damaged') return error;
  const message = `The state of the rate limit cannot be used: ${(error as Error).message}.`;
  return new UsageError(code, message, { cause: error });
}

/**
 * If the text is damaged, or older than the start of the machine, the last second counts as used. `isKnown`: this process has used the file, so
 * an empty file was replaced.
 */
function bucketsOf(text: string, now: number, isKnown: boolean): Pick<RateState, 'buckets' | 'unusedMs'> {
  if (text === '' && !isKnown) return { buckets: {}, unusedMs: UNUSED_MS };
  try {
    const buckets: unknown = JSON.parse(text);
    if (isBuckets(buckets, now)) return { buckets, unusedMs: UNUSED_MS };
  } catch {
    // Another program wrote the file, or a write was interrupted.
  }
  return { buckets: {}, unusedMs: 0 };
}

function isBuckets(value: unknown, now: number): value is Buckets {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const buckets = Object.values(value);
  return buckets.length > 0 && buckets.every((bucket) => isBucket(bucket, now));
}

function isBucket(bucket: BucketState, now: number): boolean {
  const { ring, turns, margin, guard, backpressure, guardAt, backpressureAt } = bucket;
  const times = [...ring, ...turns.map(({ due }) => due), guardAt, backpressureAt];
  const isTime = (time: unknown) => Number.isFinite(time) && (time as number) < now + UNUSED_MS;
  const isPart = (part: unknown) => typeof part === 'number' && part >= 0 && part < 1;
  return ring.length > 0 && times.every(isTime) && [margin, guard, backpressure].every(isPart);
}

/** The block of the team; null without one, and if the text is damaged. Throws the system's error if the file cannot be read. */
function readBlock(path: string, now: number): RateState['block'] {
  try {
    const { until, machineUntil, at, reason } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    if (typeof until !== 'number' || typeof machineUntil !== 'number' || typeof at !== 'number') return null;
    // Someone may set the clock, and the machine may start again: the block ends when either clock says so.
    const left = Math.min(until - Date.now(), machineUntil - now);
    return left > 0 ? { since: now + left - (until - at), until: now + left, reason: String(reason) } : null;
  } catch (error) {
    const { code = 'ENOENT' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw error;
    return null;
  }
}
