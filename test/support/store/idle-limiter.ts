import { flatProfile } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';

const make = () => new MemoryLimiter(flatProfile(1000));
/** A limiter starts nothing in its first second, so the limiters are made in advance. */
const ahead = Array.from({ length: 64 }, make);

/** An unused limiter of a thousand units a second. */
export function idleLimiter(): MemoryLimiter {
  ahead.push(make());
  return ahead.shift() as MemoryLimiter;
}
