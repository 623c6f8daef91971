import { flatProfile } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';

const make = () => new MemoryLimiter(flatProfile(1000));
/** A limiter lets nothing start in its first second. Made ahead, all but the first have that second behind them. */
const ahead = Array.from({ length: 64 }, make);

/** A limiter of a thousand calls a second that nobody has used. */
export function idleLimiter(): MemoryLimiter {
  ahead.push(make());
  return ahead.shift() as MemoryLimiter;
}
