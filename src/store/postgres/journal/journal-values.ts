import {
  type Claimed,
  ENDED_WITH_JOB,
  type Freshness,
  type Landed,
  type UnitOutcome,
  type UnitStatus,
} from '../../../core/purchase/journal.js';
import type { Json } from '../../../core/text/json.js';
import { unitLine } from '../../file/unit-record.js';

/** A landed unit as the journal's functions answer. */
export interface LandedRow {
  readonly key: string;
  readonly fetched_ms: number;
  readonly status: UnitStatus;
  readonly error_tag: string | null;
}

/** A unit as `claim_units` answers: landed, or the caller's. */
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
    ...(lost === null ? {} : { lost: { intentId: lost, at: row.lost_ms, deadline: row.lost_deadline_ms } }),
    ...(started === null
      ? {}
      : { started: { intentId: started, facts: JSON.parse(row.started_note ?? 'null') as Json, at: row.started_ms } }),
  };
}

/** Keys as everybody else writes them. */
export const hex = (uuid: string): string => uuid.replaceAll('-', '');

export const toLanded = ({ key, fetched_ms, status, error_tag }: LandedRow): Landed => ({
  key: hex(key),
  fetchedAt: fetched_ms,
  status,
  errorTag: error_tag,
});

/** Text that a column takes: PostgreSQL has no NUL. Bodies need none of it, JSON escapes theirs. */
export const storable = (text: string | null): string | null => text?.replaceAll('\0', '\ufffd') ?? null;

/** Sum of the units' costs, in micro-dollars. */
export const costOf = (units: readonly UnitOutcome[]): number => units.reduce((sum, unit) => sum + unit.costMicros, 0);

/** The arguments of `claim` and `landed` behind the keys. */
export function freshnessArgs(freshness: Freshness = {}): unknown[] {
  const { freshAfter, retryTags, retryBefore, rebuyBefore } = freshness;
  // What ended with its job is to be bought again whenever it landed.
  const [tags, before] =
    retryTags && retryBefore !== undefined ? [retryTags, retryBefore] : [[], Number.POSITIVE_INFINITY];
  return [freshAfter ?? null, [...tags, ENDED_WITH_JOB].map(storable), before, rebuyBefore ?? null];
}

/** The arguments of `land` and `settle` that are their units. */
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
    // One text of lines: an array of texts would be escaped here and unescaped there, megabytes of quotes.
    units.map((unit) => unitLine(unit, operation, requestId, at)).join('\n'),
  ];
}
