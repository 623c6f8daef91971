import { eventTypes } from '../../core/events/payloads.js';
import { type EventWalkOptions, MOST_PARALLEL } from '../../core/events/walk-job.js';
import { misspelt, nearest } from '../../core/text/nearest.js';
import { toCount } from '../monitors/monitor-flags.js';
import { toMoment } from '../options/moment-option.js';

/** Flags that all commands on events share. */
export interface EventFlags {
  readonly into?: string;
  readonly type?: readonly string[];
  readonly parallel?: string;
  readonly unchecked?: boolean;
  readonly qps?: string;
  readonly rateProfile?: string;
  readonly json?: boolean;
  readonly detach?: boolean;
}

export interface RangeFlags {
  readonly from?: string;
  readonly until?: string;
}

/** The known event type that an unknown one certainly means; null for a known type and for another one. */
export const meantType = (type: string): string | null =>
  eventTypes.includes(type) ? null : misspelt(type, eventTypes);

/** Returns the options that all walks share; adds a sentence to `mistakes` for each invalid flag. */
export function toWalkOptions(
  { type, parallel, unchecked }: EventFlags,
  mistakes: string[],
): Pick<EventWalkOptions, 'types' | 'parallel' | 'unchecked'> {
  const types = [...new Set((type ?? []).flatMap((text) => text.split(',')).map((text) => text.trim()))];
  if (types.includes('')) mistakes.push('--type: name an event type, such as webset.item.created.');
  for (const one of types) {
    const meant = unchecked ? null : meantType(one);
    if (meant !== null)
      mistakes.push(
        `--type: '${one}' is not an event type; did you mean ${meant}? To send it unchanged, pass --unchecked.`,
      );
  }
  const windows = toCount(parallel, '--parallel', MOST_PARALLEL, mistakes);
  return {
    ...(types.length === 0 ? {} : { types: types.sort() }),
    parallel: windows,
    unchecked,
  };
}

/**
 * Returns a note about unknown event types, or null if all are known. The service may have new types, so unknown types are
 * allowed.
 */
export function typesNote(types: readonly string[] = []): string | null {
  const strange = types.filter((type) => !eventTypes.includes(type));
  if (strange.length === 0) return null;
  const which = strange.length === 1 ? 'Unknown event type' : 'Unknown event types';
  const hinted = strange.map((type) => {
    const near = nearest(type, eventTypes);
    return near === null ? type : `${type} (did you mean ${near}?)`;
  });
  return (
    `${which}: ${hinted.join(', ')}. The service may refuse a type that it does not know. ` +
    `Known types: ${[...eventTypes].sort().join(', ')}.`
  );
}

/** Returns the range of the flags in ISO 8601; adds a sentence to `mistakes` for each invalid flag. */
export function toRange(
  { from, until }: RangeFlags,
  now: number,
  mistakes: string[],
): { readonly from: string; readonly until?: string } {
  if (from === undefined)
    mistakes.push(
      '--from is required: a UTC date (2026-01-01) or an age (30d). To load all events:\n  searchflow events sync',
    );
  const begins = from === undefined ? null : toMoment('--from', from, now, mistakes);
  const ends = until === undefined ? null : toMoment('--until', until, now, mistakes, true);
  if (begins !== null && ends !== null && begins >= ends)
    mistakes.push(`--from ${from} must be before --until ${until}.`);
  if (begins !== null && begins > now) mistakes.push(`--from: ${from} is in the future.`);
  const iso = (at: number | null) => new Date(at ?? 0).toISOString();
  return { from: iso(begins), ...(until === undefined ? {} : { until: iso(ends) }) };
}
