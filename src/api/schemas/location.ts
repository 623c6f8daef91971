import { z } from 'zod';
import { problem, shown } from '../checks/checks.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';

/** A two-letter ISO country code; the live service also takes coordinates (API reference: /search). */
export const userLocation = z.union([z.string(), z.looseObject({})]);

export function checkLocation(
  location: z.infer<typeof userLocation> | null | undefined,
  limits: ServiceLimits,
): LimitProblem | null {
  if (location === undefined || location === null) return null;
  const rule = 'it must be a two-letter ISO country code';
  if (typeof location === 'string') {
    return /^[a-z]{2}$/i.test(location) ? null : problem('userLocation', `is ${shown(location)}`, rule, limits);
  }
  return limits.locationObjects ? null : problem('userLocation', 'is an object', rule, limits);
}
