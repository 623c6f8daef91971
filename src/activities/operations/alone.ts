import { type OperationName, operationTable } from '../../api/operations.js';
import type { RowsPiece } from '../../core/rows/enrich-rows.js';
import type { CallDeps } from '../base/deps.js';
import { CallRecord, SpareAnswers } from '../call/call-record.js';
import type { PurchaseDeps } from '../purchase/journal-writes.js';
import { createPurchase } from '../purchase/purchase.js';
import { createContentsActivity } from './contents.js';
import { createEnrichRows } from './enrich-rows.js';
import { JointEnds } from './joint-ends.js';
import { operationActivity } from './operations.js';

/** The ports of a worker without a record. */
export type AloneDeps = Omit<CallDeps, 'journal' | 'purchase' | 'alone'> & Omit<PurchaseDeps, 'journal'>;

type Call = (...args: never[]) => Promise<unknown>;

/** Returns the activities of a worker without a record: Temporal's history keeps the answers. */
export function createAloneActivities(deps: AloneDeps): Readonly<Record<string, Call>> {
  const ends = new JointEnds();
  const spares = new SpareAnswers();
  const activity =
    (callOf: (ofCall: CallDeps, record: CallRecord) => Call): Call =>
    async (...args) => {
      const journal = new CallRecord();
      const purchase = createPurchase({ ...deps, journal });
      const ofCall: CallDeps = { ...deps, journal, alone: journal, spares, purchase };
      try {
        return await callOf(ofCall, journal)(...args);
      } catch (error) {
        journal.leave();
        throw error;
      }
    };
  const names = (Object.keys(operationTable) as OperationName[]).filter((name) => name !== 'getContents');
  return {
    ...Object.fromEntries(names.map((name) => [name, activity((ofCall) => operationActivity(ofCall, name))])),
    getContents: activity(createContentsActivity),
    planEnrichRows: activity((ofCall) => createEnrichRows(ofCall).planEnrichRows),
    buyEnrichRows: activity(
      (ofCall, record) => (piece: RowsPiece) =>
        ends.buy(record, piece.isLast, () => createEnrichRows(ofCall).buyEnrichRows(piece)),
    ),
  };
}
