import { parseDuration } from './duration-option.js';

const DAY_MS = 86_400_000;

/**
 * First moment of a day of UTC: `2026-11-21`, or the one so many days or weeks ago, `7d` or `2w`; null for what is neither. Unix ms.
 * Never an exact time ago: the same command a minute later would mean something else.
 */
export function parseDay(text: string, now: number): number | null {
  const ago = /^\d+[dw]$/.test(text) ? parseDuration(text) : null;
  if (ago !== null) return Math.floor((now - ago) / DAY_MS) * DAY_MS;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  // Date.parse takes the 31st of February for a day in March.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text) ? at : null;
}

/** The moment after such a day, so that a period may end with it. */
export function parseLastDay(text: string, now: number): number | null {
  const day = parseDay(text, now);
  return day === null ? null : day + DAY_MS;
}
