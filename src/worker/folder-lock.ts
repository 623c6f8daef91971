// For commands, which don't reach into the store themselves.
export { withLock } from '../store/process-lock.js';
