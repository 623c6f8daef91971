import { type OperationName, operationTable } from '../../api/operations.js';
import type { CallDeps } from '../base/deps.js';
import { CallRecord } from '../call/call-record.js';
import type { PurchaseDeps } from '../purchase/journal-writes.js';
import { createPurchase } from '../purchase/purchase.js';
import { createContentsActivity } from './contents.js';
import { operationActivity } from './operations.js';

/** The ports of a worker without a record. */
export type AloneDeps = Omit<CallDeps, 'journal' | 'purchase' | 'alone'> & Omit<PurchaseDeps, 'journal'>;

type Call = (...args: never[]) => Promise<unknown>;

/** Returns the activities of the operations for a worker without a record: Temporal's history keeps the answers. */
export function createAloneActivities(deps: AloneDeps): Readonly<Record<OperationName, Call>> {
  const activity =
    (name: OperationName): Call =>
    async (...args) => {
      const journal = new CallRecord();
      const ofCall: CallDeps = { ...deps, journal, alone: journal, purchase: createPurchase({ ...deps, journal }) };
      try {
        const call: Call = name === 'getContents' ? createContentsActivity(ofCall) : operationActivity(ofCall, name);
        return await call(...args);
      } catch (error) {
        journal.leave();
        throw error;
      }
    };
  const names = Object.keys(operationTable) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, activity(name)])) as Record<OperationName, Call>;
}
