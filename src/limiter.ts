/** The limiter of one process, for plain calls and for calls of own activities: `createClient({ apiKey, limiter })`. */
export type { Limiter } from './core/limiter/limiter.js';
export { flatProfile, type RateBucket, type RateProfile, rateProfiles } from './core/limiter/rate.js';
export { MemoryLimiter } from './store/limiter/memory-limiter.js';
