import {
  type Claimed,
  ENDED_WITH_JOB,
  type Landed,
  type UnitOutcome,
  type UnitStatus,
} from '../../../core/purchase/journal.js';
import type { Freshness } from '../../../core/row-job-schemas.js';
import type { Json } from '../../../core/text/json.js';
import { unitLine } from '../../file/unit-record.js';

/** A landed unit, as the journal's SQL functions return it. */
export interface LandedRow {
  readonly key: string;
  readonly fetched_ms: number;
  readonly status: UnitStatus;
  readonly error_tag: string | null;
}

/** A unit, as `claim` returns it: landed, or claimed by the caller. */
export type ClaimRow = LandedRow | ClaimedRow;

interface ClaimedRow {
  readonly key: string;
  readonly fetched_ms: null;
  readonly unknowns: number;
  readonly started: string | null;
  readonly started_note: string | null;
  readonly started_ms: number;
  readonly lost: string | null;
  readonly lost_ms: number;
  readonly lost_deadline_ms: number;
}

export function toClaimed(row: ClaimedRow): Claimed {
  const { started, lost } = row;
  return {
    key: hex(row.key),
    unknowns: row.unknowns,
    lost: lost === null ? undefined : { intentId: lost, at: row.lost_ms, deadline: row.lost_deadline_ms },
    started:
      started === null
        ? undefined
        : { intentId: started, facts: JSON.parse(row.started_note ?? 'null') as Json, at: row.started_ms },
  };
}

/** A key in hex without dashes. */
export const hex = (uuid: string): string => uuid.replaceAll('-', '');

export const toLanded = ({ key, fetched_ms, status, error_tag }: LandedRow): Landed => ({
  key: hex(key),
  fetchedAt: fetched_ms,
  status,
  errorTag: error_tag,
});

/** Text without NUL, which PostgreSQL cannot store. Bodies do not need this, because JSON escapes NUL. */
export const storable = (text: string | null): string | null => text?.replaceAll('\0', '\ufffd') ?? null;

/** Sum of the units' costs, in micro-dollars. */
export const costOf = (units: readonly UnitOutcome[]): number => units.reduce((sum, unit) => sum + unit.costMicros, 0);

/** The arguments of `claim` and `landed` after the keys. */
export function freshnessArgs(freshness: Freshness = {}): unknown[] {
  const { freshAfter, retryTags, retryBefore, rebuyBefore } = freshness;
  // Units with the tag `ENDED_WITH_JOB` are always bought again. Without `retryBefore`, no other tag is retried.
  const [tags, before] =
    retryTags && retryBefore !== undefined ? [retryTags, retryBefore] : [[], Number.POSITIVE_INFINITY];
  return [freshAfter ?? null, [...tags, ENDED_WITH_JOB].map(storable), before, rebuyBefore ?? null];
}

/** The arguments of `land` and `settle` for their units. */
export function unitArgs(
  units: readonly UnitOutcome[],
  operation: string,
  requestId: string | null,
  at: number,
): unknown[] {
  return [
    units.map((unit) => unit.key),
    units.map((unit) => unit.status),
    units.map((unit) => storable(unit.errorTag)),
    // One text with a line for each unit, because an array of texts would need megabytes of escapes.
    units.map((unit) => unitLine(unit, operation, requestId, at)).join('\n'),
  ];
}
