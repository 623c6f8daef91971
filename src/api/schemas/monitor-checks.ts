import { checkUrl } from '../checks/check-url.js';
import { checkCount, checkRange, checkText, firstProblem, problem, shown } from '../checks/checks.js';
import { checkContentsOptions } from '../checks/contents-options.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';
import type { MonitorChanges, MonitorDefinition } from './monitor-schemas.js';
import { checkOutputSchema } from './output-schema.js';

type Search = NonNullable<MonitorChanges['search']>;

function checkSearch(search: Search | undefined, limits: ServiceLimits): LimitProblem | null {
  if (!search) return null;
  return firstProblem(
    () => checkText('search.query', search.query, null, limits),
    () => checkRange('search.numResults', search.numResults, limits.numResults, limits),
    () => checkCount('search.includeDomains', search.includeDomains, 0, limits.maxDomains, limits),
    () => checkCount('search.excludeDomains', search.excludeDomains, 0, limits.maxDomains, limits),
    () => checkContentsOptions(search.contents ?? {}, 'search.contents.', limits),
  );
}

/** A period of the live service: a whole number and a unit, at least an hour. */
function checkTrigger(trigger: MonitorChanges['trigger'], limits: ServiceLimits): LimitProblem | null {
  const period = trigger?.period;
  if (!limits.monitors.periods || period === undefined || trigger?.type !== 'interval') return null;
  const known = /^0*[1-9]\d*\s*(h|hrs?|hours?|d|days?|w|weeks?|mo|months?)$/i.test(period);
  const rule = 'it must be one number and one unit of at least an hour, such as 6h';
  return !known ? problem('trigger.period', `is ${shown(period)}`, rule, limits) : null;
}

function checkWebhook(webhook: MonitorChanges['webhook'], limits: ServiceLimits): LimitProblem | null {
  const url = webhook?.url;
  if (url === undefined) return null;
  const found = checkUrl('webhook.url', url, limits);
  if (found || !limits.monitors.webhook || /^https:/i.test(url)) return found;
  return problem('webhook.url', 'is not an HTTPS URL', 'the service delivers to HTTPS only', limits);
}

/** Checks changes of a monitor, and the same fields of a new monitor (API reference: /monitors). */
export function checkMonitorChanges(
  input: Pick<MonitorChanges, 'search' | 'trigger' | 'outputSchema' | 'webhook'>,
  limits: ServiceLimits,
): LimitProblem | null {
  return firstProblem(
    () => checkSearch(input.search, limits),
    () => checkTrigger(input.trigger, limits),
    () => checkOutputSchema(input.outputSchema, limits),
    () => checkWebhook(input.webhook, limits),
  );
}

/** Checks the definition of a new monitor. */
export function checkMonitorDefinition(input: MonitorDefinition, limits: ServiceLimits): LimitProblem | null {
  return firstProblem(
    () => checkMonitorChanges(input, limits),
    () =>
      limits.monitors.webhook && input.webhook === undefined
        ? problem('webhook', 'is missing', 'it is required for the delivery of results', limits)
        : null,
  );
}
