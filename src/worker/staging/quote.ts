import { rowRequests } from '../../activities/rows/row-requests.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { bucketsFor, type RateProfile } from '../../core/limiter/rate.js';
import { estimateContents, type PriceTable } from '../../core/purchase/prices.js';
import { isLongRunning } from '../../core/rows/row-operation.js';
import { sha256 } from '../config/sha256.js';

/** Slots of a team, and the assumed duration of a run at the service, in seconds. */
const SLOTS = 50;
const RUN_SECONDS = 60;

/** Efforts with a fixed price; all others are billed by usage, up to a budget (API reference: prices). */
const fixed = ['minimal', 'low', 'medium', 'high', 'xhigh'];

/** Sums up the cost and the duration of buying units of a job. */
export type Quote = ReturnType<typeof quote>;

export function quote(staged: StagedJob, prices: PriceTable, rate: RateProfile) {
  const requests = rowRequests({ origin: staged.origin, sha256 }, staged);
  let [sent, micros] = [0, 0];
  let rateCost = { rateClass: 'contents', weight: 1 };
  const addNumber = (units: number) => {
    sent += Math.ceil(units / staged.batch);
    micros += estimateContents(staged.options, units, prices);
  };
  return {
    /** Adds a number of units. Null if the price of a unit depends on its text. */
    addNumber: requests === null ? addNumber : null,
    add(units: readonly string[]): void {
      if (requests === null) {
        addNumber(units.length);
        return;
      }
      sent += Math.ceil(units.length / staged.batch);
      for (const unit of units) micros += requests.listMicros(unit, prices);
      if (units[0] !== undefined) rateCost = requests.rateCost(units[0]);
    },
    total() {
      const qps = Math.min(...bucketsFor(rate, rateCost.rateClass).map((bucket) => bucket.qps));
      const perSecond = qps / Math.max(1, rateCost.weight);
      const running = isLongRunning(staged.operation) && sent > 0 ? Math.ceil(sent / SLOTS) * RUN_SECONDS : 0;
      return {
        requests: sent,
        /** Price by the price table, in micro-dollars. */
        micros,
        /** Whether the price depends on usage, so that `micros` is an upper bound. */
        isMost: isLongRunning(staged.operation) && !fixed.includes(String(staged.options.effort)),
        seconds: Math.max(sent / perSecond, running),
        /** Requests per second that the rate allows. */
        perSecond,
      };
    },
  };
}
