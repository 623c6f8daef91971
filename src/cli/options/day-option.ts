import { parseDuration } from './duration-option.js';

const DAY_MS = 86_400_000;

/**
 * Returns the start of a UTC day in Unix ms; null for other texts. Formats: a date (`2026-11-21`), or an age (`7d`, `2w`). An
 * age means a whole day, so that a command that is repeated a minute later has the same range.
 */
export function parseDay(text: string, now: number): number | null {
  const ago = /^\d+[dw]$/.test(text) ? parseDuration(text) : null;
  if (ago !== null) return Math.floor((now - ago) / DAY_MS) * DAY_MS;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  // Date.parse accepts February 31 as a day in March.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text) ? at : null;
}

/** Returns the end of a day in Unix ms; null for other texts. The formats are those of `parseDay`. */
export function parseLastDay(text: string, now: number): number | null {
  const day = parseDay(text, now);
  return day === null ? null : day + DAY_MS;
}
