export { type Fault, type FaultDo, type FaultWhen, parseFault, type SandboxOptions } from './options.js';
export type { Bill } from './purchase-book.js';
export type { RequestLogEntry } from './request-log.js';
export { type Sandbox, type SandboxStats, startSandbox } from './sandbox.js';
