import type { ActivityStep, DayUsage } from '../../core/purchase/activity.js';
import { count, dollars, duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import type { Cell } from './page.js';

export const DAY_MS = 86_400_000;
export const text = (value: string | null | undefined): Cell => ({ text: printable(value ?? '–', 300) });
export const number = (value: string): Cell => ({ text: value, kind: 'number' });
export const counted = (value: number): Cell => number(count(value));
export const alarming = (value: number): Cell => ({ text: count(value), kind: value > 0 ? 'number bad' : 'number' });
export const money = (micros: number): Cell => number(dollars(micros));
export const names = (...titles: readonly string[]): Cell[] => titles.map((title) => ({ text: title }));
export const numbers = (...titles: readonly string[]): Cell[] =>
  titles.map((title) => ({ text: title, kind: 'number' }));
/** A share with one decimal, rounded. `0%` and `100%` are exact. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const tenths = Math.round((1000 * part) / whole);
  if (tenths === 0 && part > 0) return '<0.1%';
  const shown = part < whole ? Math.min(tenths, 999) : tenths;
  return `${(shown / 10).toFixed(1).replace(/\.0$/, '')}%`;
}
export const seconds = (value: number): string => (value < 10 ? `${value.toFixed(2)} s` : duration(value));
/** `2026-11-21 06:00`, in UTC. */
export const minute = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');
export const day = (at: number): string => new Date(at).toISOString().slice(0, 10);

type Sums = Omit<ActivityStep, 'bucket' | 'at'>;

export function sumOf(steps: readonly ActivityStep[]): Sums {
  const sum = (name: keyof Sums) => steps.reduce((all, step) => all + step[name], 0);
  const most = (name: keyof Sums) => Math.max(0, ...steps.map((step) => step[name]));
  return {
    ...{ requests: sum('requests'), units: sum('units'), active: sum('active'), busiest: most('busiest') },
    ...{ answered: sum('answered'), seconds: sum('seconds'), slowest: most('slowest'), limited: sum('limited') },
    ...{ waitSeconds: sum('waitSeconds'), failed: sum('failed'), lost: sum('lost') },
  };
}

export function daySums(days: readonly DayUsage[]) {
  const sum = (name: 'requests' | 'units' | 'landedMicros' | 'openMicros' | 'unknownOutcomes' | 'unknownMicros') =>
    days.reduce((all, one) => all + one[name], 0);
  return {
    ...{ requests: sum('requests'), units: sum('units'), landedMicros: sum('landedMicros') },
    ...{ openMicros: sum('openMicros'), unknownOutcomes: sum('unknownOutcomes'), unknownMicros: sum('unknownMicros') },
  };
}
