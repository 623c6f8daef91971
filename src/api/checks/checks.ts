import type { LimitProblem, Range, ServiceLimits } from './limits.js';
import { oneLine } from './redact.js';

/** Returns the first problem. Later checks are not run. */
export function firstProblem(...checks: readonly (() => LimitProblem | null)[]): LimitProblem | null {
  for (const check of checks) {
    const problem = check();
    if (problem) return problem;
  }
  return null;
}

/** Example: `numResults is 101; at most 100 (profile contract)`. */
export function problem(field: string, found: string, rule: string, limits: ServiceLimits): LimitProblem {
  return { field, message: `${field} ${found}; ${rule} (profile ${limits.profile})` };
}

/** A value for an error message. Strings are cut, because a string may be long or private. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? `"${oneLine(value, 40)}"` : oneLine(String(value), 40);
}

/** Checks one number against its range. The service decides about absent and null values. */
export function checkRange(field: string, value: unknown, range: Range, limits: ServiceLimits): LimitProblem | null {
  if (value === undefined || value === null) return null;
  const found = `is ${shown(value)}`;
  if (typeof value !== 'number' || Number.isNaN(value)) return problem(field, found, 'it must be a number', limits);
  if (range.integer && !Number.isInteger(value)) return problem(field, found, 'it must be a whole number', limits);
  if (value < range.min) return problem(field, found, `at least ${range.min}`, limits);
  if (range.max !== null && value > range.max) return problem(field, found, `at most ${range.max}`, limits);
  return null;
}

/** Checks the number of entries of an array. */
export function checkCount(
  field: string,
  list: readonly unknown[] | null | undefined,
  min: number,
  max: number | null,
  limits: ServiceLimits,
): LimitProblem | null {
  if (!list) return null;
  const found = `has ${list.length} entries`;
  if (list.length < min) return problem(field, found, `at least ${min}`, limits);
  return max !== null && list.length > max ? problem(field, found, `at most ${max}`, limits) : null;
}

const isoDate = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?$/;

/** Checks an ISO 8601 date or date-time. */
export function checkDate(field: string, value: string | null | undefined, limits: ServiceLimits): LimitProblem | null {
  if (value === undefined || value === null) return null;
  if (isoDate.test(value) && !Number.isNaN(Date.parse(value)) && isDay(value.slice(0, 10))) return null;
  return problem(field, `is ${shown(value)}`, 'it must be an ISO 8601 date or date-time', limits);
}

/** Whether the day exists: `Date` reads February 30 as March 2. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** Checks that a text is not empty and not too long for the service. */
export function checkText(
  field: string,
  value: string | null | undefined,
  max: number | null,
  limits: ServiceLimits,
): LimitProblem | null {
  if (value === undefined || value === null) return null;
  if (value.trim() === '') return problem(field, 'is empty', 'at least 1 character', limits);
  const long = max !== null && value.length > max;
  return long ? problem(field, `has ${value.length} characters`, `at most ${max}`, limits) : null;
}
