import { problem, shown } from './checks.js';
import type { LimitProblem, ServiceLimits } from './limits.js';

const webUrl = /^https?:\/\/[^\s/?#]/i;

/** Checks the URL of a page. */
export function checkUrl(field: string, url: string, limits: ServiceLimits): LimitProblem | null {
  return checkLength(field, url, limits) ?? checkScheme(field, url, limits);
}

/** Checks the service's id of a document, which is usually its URL. */
export function checkLength(field: string, url: string, limits: ServiceLimits): LimitProblem | null {
  if (url.length === 0) return problem(field, 'is empty', 'it must be a URL', limits);
  const long = url.length > limits.maxUrlLength;
  return long ? problem(field, `has ${url.length} characters`, `at most ${limits.maxUrlLength}`, limits) : null;
}

function checkScheme(field: string, url: string, limits: ServiceLimits): LimitProblem | null {
  if (webUrl.test(url)) return null;
  // Only the start is shown: a URL can hold a password or a token.
  return problem(field, `starts with ${shown(url.slice(0, 12))}`, 'it must be an http or https URL', limits);
}
