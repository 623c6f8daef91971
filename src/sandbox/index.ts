export type { Bill } from './ledger/purchase-log.js';
export type { Panel, SandboxStats } from './sandbox.js';
export { type Sandbox, startSandbox } from './sandbox.js';
export { type Fault, type FaultDo, type FaultWhen, parseFault, type SandboxOptions } from './server/options.js';
export type { RequestLogEntry } from './server/request-log.js';
