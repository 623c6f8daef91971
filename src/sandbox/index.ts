export { type Fault, type FaultDo, type FaultWhen, parseFault, type SandboxOptions } from './options.js';
export type { Panel, SandboxStats } from './panel.js';
export type { Bill } from './purchase-book.js';
export type { RequestLogEntry } from './request-log.js';
export { type Sandbox, startSandbox } from './sandbox.js';
