import { problem, shown } from './checks.js';
import type { LimitProblem, ServiceLimits } from './limits.js';

const webUrl = /^https?:\/\/[^\s/?#]/i;

/** Checks the address of a page. */
export function checkUrl(field: string, url: string, limits: ServiceLimits): LimitProblem | null {
  return checkLength(field, url, limits) ?? checkScheme(field, url, limits);
}

/** Checks what the service calls an id of a document: usually its URL. */
export function checkLength(field: string, url: string, limits: ServiceLimits): LimitProblem | null {
  if (url.length === 0) return problem(field, 'is empty', 'a URL is needed', limits);
  const long = url.length > limits.maxUrlLength;
  return long ? problem(field, `has ${url.length} characters`, `at most ${limits.maxUrlLength}`, limits) : null;
}

function checkScheme(field: string, url: string, limits: ServiceLimits): LimitProblem | null {
  if (webUrl.test(url)) return null;
  // No more of it than the start: a URL can hold a password or a token.
  return problem(field, `starts with ${shown(url.slice(0, 12))}`, 'an http or https URL is needed', limits);
}
