import { eventTypes } from '../../core/events/payloads.js';
import type { EventWalkOptions } from '../../core/events/walk-job.js';
import { nearest } from '../../core/text/nearest.js';
import { toCount } from '../monitors/monitor-flags.js';
import { toMoment } from '../options/moment-option.js';

/** Flags of all commands on events, as typed. */
export interface EventFlags {
  readonly into?: string;
  readonly type?: readonly string[];
  readonly parallel?: string;
  readonly qps?: string;
  readonly rateProfile?: string;
  readonly json?: boolean;
}

export interface StretchFlags {
  readonly from?: string;
  readonly until?: string;
}

const MOST_PARALLEL = 256;

/** What walks share, of the flags; adds a sentence to `mistakes` for each that can't be. */
export function toWalkOptions(flags: EventFlags, mistakes: string[]): Pick<EventWalkOptions, 'types' | 'parallel'> {
  const { type, parallel } = flags;
  const types = [...new Set((type ?? []).flatMap((text) => text.split(',')).map((text) => text.trim()))];
  if (types.includes('')) mistakes.push('--type: an event type is needed, such as webset.item.created.');
  const windows = toCount(parallel, '--parallel', MOST_PARALLEL, mistakes);
  return {
    ...(types.length === 0 ? {} : { types: types.sort() }),
    ...(windows === undefined ? {} : { parallel: windows }),
  };
}

/** What to say about types that nobody knows; null where there are none. The service may have new ones, so it is no mistake. */
export function typesNote(types: readonly string[] = []): string | null {
  const strange = types.filter((type) => !eventTypes.includes(type));
  if (strange.length === 0) return null;
  const which = strange.length === 1 ? 'is no event type' : 'are no event types';
  const hinted = strange.map((type) => {
    const near = nearest(type, eventTypes);
    return near === null ? type : `${type} (did you mean ${near}?)`;
  });
  return (
    `${hinted.join(', ')} ${which} that searchflow knows, and a service that doesn't know it refuses it. ` +
    `searchflow knows ${[...eventTypes].sort().join(', ')}.`
  );
}

/** The stretch of the flags, ISO 8601; adds a sentence to `mistakes` for each that can't be. */
export function toStretch(
  { from, until }: StretchFlags,
  now: number,
  mistakes: string[],
): { readonly from: string; readonly until?: string } {
  if (from === undefined)
    mistakes.push(
      '--from: say from when, such as 2026-01-01 (UTC); `searchflow events sync` loads all from the beginning.',
    );
  const begins = from === undefined ? null : toMoment('--from', from, now, mistakes);
  const ends = until === undefined ? null : toMoment('--until', until, now, mistakes, true);
  if (begins !== null && ends !== null && begins >= ends)
    mistakes.push(`--from ${from} is later than --until ${until}: exchange them.`);
  if (begins !== null && begins > now)
    mistakes.push(`--from: ${from} is in the future, where no event has happened yet.`);
  const iso = (at: number | null) => new Date(at ?? 0).toISOString();
  return { from: iso(begins), ...(until === undefined ? {} : { until: iso(ends) }) };
}
