import { type Attempt, type AttemptOutcome, isUnsent, type UnitHistory } from '../../../core/purchase/attempts.js';
import { FORGOTTEN } from '../../../core/purchase/forgotten.js';
import type { UnitStatus } from '../../../core/purchase/journal.js';
import { identifier, type Postgres } from '../../../postgres/index.js';

interface PurchaseRow {
  readonly id: string;
  readonly segment: string;
  readonly operation: string;
  readonly state: 'open' | 'landed' | 'unknown' | 'never';
  readonly at: number;
  readonly closed: number | null;
  readonly request_id: string | null;
  readonly reason: string | null;
  readonly note: string | null;
  readonly came?: string | null;
  /** Number of its units; `wanted`: those that were asked for. */
  readonly size: number;
  readonly wanted: readonly string[];
  readonly estimate: number;
  readonly cost: number;
  /** Number of units among which its cost was split; null: not known. */
  readonly sharing: number | null;
  /** Number of its units whose answer is still the newest and not forgotten; `successes`: those without an error. */
  readonly current: number;
  readonly successes: number;
}

interface UnitRow {
  readonly key: string;
  readonly purchase: string;
  readonly segment: string;
  readonly bought: boolean;
  readonly fetched: number;
  readonly status: UnitStatus;
  readonly tag: string | null;
  readonly bytes: number | null;
  readonly cost: number | null;
}

/** Whether a unit was forgotten: its status is no longer that of its answer. */
const forgotten = `(error_tag IS NOT DISTINCT FROM '${FORGOTTEN}')`;

/**
 * See `PurchaseHistory.history`. Purchases are found by their job, and by the tables that have a unit's purchase: landed units, unknown
 * outcomes and runs. Their keys have no index, because each request would update it several times for each of its units.
 */
export async function historyOf(
  postgres: Postgres,
  keys: readonly string[],
  jobs: readonly string[],
  texts = false,
): Promise<ReadonlyMap<string, UnitHistory>> {
  const schema = identifier(postgres.address.schema);
  const wanted = [...new Set(keys)];
  if (wanted.length === 0) return new Map();
  const units = await postgres.query<UnitRow>(
    `SELECT replace(key::text, '-', '') AS key, purchase, segment, bought, fetched_ms AS fetched, status, error_tag AS tag,
       octet_length(body) AS bytes,
       substring(body FROM CASE WHEN ${forgotten} THEN '"kept_micros":([0-9]+)' ELSE '"cost_micros":([0-9]+)' END)::double precision AS cost
     FROM ${schema}.units WHERE key = ANY ($1)`,
    [wanted],
  );
  const purchases = await postgres.query<PurchaseRow>(
    `WITH found AS (
       SELECT id FROM ${schema}.purchases WHERE job = ANY ($2) AND keys && CAST($1 AS uuid[])
       UNION SELECT purchase FROM ${schema}.units WHERE key = ANY ($1)
       UNION SELECT purchase FROM ${schema}.lost_units WHERE key = ANY ($1)
       UNION SELECT purchase FROM ${schema}.runs WHERE key = ANY ($1))
     SELECT p.id, p.segment, p.operation, p.state, floor(extract(epoch FROM p.at) * 1000)::double precision AS at,
       floor(extract(epoch FROM p.closed_at) * 1000)::double precision AS closed, p.request_id, p.reason, p.note, ${texts ? 'p.came,' : ''}
       cardinality(p.keys) AS size,
       ARRAY(SELECT replace(k::text, '-', '') FROM unnest(p.keys) AS k WHERE k = ANY ($1)) AS wanted,
       p.estimate_micros::double precision AS estimate, p.cost_micros::double precision AS cost,
       round(p.cost_micros * p.units / nullif(p.list_micros * p.cost_multiple, 0))::double precision AS sharing,
       (SELECT count(*) FROM ${schema}.units u WHERE u.key = ANY (p.keys) AND u.purchase = p.id AND NOT ${forgotten})::integer AS current,
       (SELECT count(*) FROM ${schema}.units u WHERE u.key = ANY (p.keys) AND u.purchase = p.id AND u.status = 'success')::integer
         AS successes
     FROM ${schema}.purchases p JOIN found USING (id) WHERE p.state <> 'settled' ORDER BY p.at, p.id`,
    [wanted, jobs],
  );
  return new Map(
    wanted.map((key) => {
      const unit = units.find((one) => one.key === key);
      const own = purchases.filter((purchase) => purchase.wanted.includes(key));
      return [
        key,
        { attempts: own.map((purchase) => attemptOf(purchase, unit)), landed: unit ? landedOf(unit) : null },
      ];
    }),
  );
}

const landedOf = ({ segment, fetched, status, tag, bought, bytes }: UnitRow) => ({
  ...{ segment, fetchedAt: fetched, status, errorTag: tag, isBought: bought },
  ...{ bytes, hasBody: bytes !== null },
});

function attemptOf(purchase: PurchaseRow, unit: UnitRow | undefined): Attempt {
  const { segment, operation, state, at, closed, reason, came, size, estimate, cost } = purchase;
  const base = { segment, operation, at, endedAt: closed, reason, came, run: runOf(purchase.note), units: size };
  if (state === 'landed') {
    const costMicros = shareOf(purchase, unit);
    return { ...base, outcome: 'landed', requestId: purchase.request_id, costMicros, requestMicros: cost };
  }
  const isFree = state === 'never';
  const outcome: AttemptOutcome = isFree ? (isUnsent(reason) ? 'unsent' : 'free') : state;
  const amounts = { costMicros: isFree ? 0 : null, requestMicros: isFree ? 0 : estimate };
  return { ...base, outcome, requestId: null, ...amounts };
}

/**
 * The unit's share of the cost of an answer, which only the unit's newest answer has in its body. The cost is split over the units without an
 * error. If newer answers have replaced some of the units, the others show which of them had an error; null if they do not.
 */
function shareOf(
  { id, size, cost, sharing, current, successes }: PurchaseRow,
  unit: UnitRow | undefined,
): number | null {
  if (cost === 0) return 0;
  if (size === 1) return cost;
  const isCurrent = unit?.purchase === id;
  if (isCurrent && unit.cost !== null) return unit.cost;
  if (sharing === size) return Math.floor(cost / size);
  const share = sharing === null ? null : Math.floor(cost / sharing);
  // The body was pruned.
  if (isCurrent && unit.tag !== FORGOTTEN)
    return unit.status === 'error' && (share !== null || successes > 0) ? 0 : share;
  if (successes === sharing) return 0;
  return successes + size - current === sharing ? share : null;
}

function runOf(note: string | null): string | null {
  const run = note === null ? null : (JSON.parse(note) as { readonly run?: unknown } | null)?.run;
  return typeof run === 'string' ? run : null;
}
