export { type Fault, type FaultDo, type FaultWhen, parseFault } from './base/fault.js';
export type { SandboxOptions } from './base/options.js';
export type { Bill } from './ledger/ledger.js';
export { type Panel, type Sandbox, type SandboxStats, startSandbox } from './sandbox.js';
export type { RequestLogEntry } from './server/request-log.js';
