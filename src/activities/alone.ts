/** The part of the activities that a worker without a record loads. */
export { AccountBreaker, CircuitBreaker } from './call/circuit-breaker.js';
export { InFlight } from './call/in-flight.js';
export { Places } from './call/places.js';
export { createAloneActivities } from './operations/alone.js';
export { needsRecord } from './operations/buy.js';
