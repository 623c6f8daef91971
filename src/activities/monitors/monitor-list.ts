import { ApplicationFailure } from '@temporalio/common';
import { misreadText } from '../../api/checks/shape.js';
import { getMonitorEndpoint, listMonitorsEndpoint, updateMonitorEndpoint } from '../../api/endpoints/monitors.js';
import type { Monitor } from '../../api/schemas/monitor-schemas.js';
import type { Input } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import type { PageEnvelope } from '../../core/events/page.js';
import { next, startWalk } from '../../core/events/walk.js';
import { sentWith } from '../../core/purchase/sent-with.js';
import { canonicalJson } from '../../core/text/json.js';
import type { MonitorFilter } from '../../core/workflow-input-schemas.js';
import type { MonitorState } from '../../core/workflow-result-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import { sendFreeWithRetries, sendUnlessGone } from '../base/free-call.js';
import { localFailures } from '../call/failure.js';
import { redactAnswer } from '../call/landing.js';

/** Number of monitors in a page: the service's maximum. */
const PAGE = 100;

/** Number of digits of the digest that identifies a version of a monitor. */
const DIGEST = 16;

type Deps = Pick<ActivityDeps, 'transport' | 'limiter' | 'sha256'>;

/**
 * Yields every page of a list in order. Rejects with `WalkError` if the walk of the list cannot continue. `onLost` is called with the entries
 * of a page that cannot be read.
 */
export async function* pagesOf<I, T>(
  deps: Deps,
  endpoint: Endpoint<I, PageEnvelope<T>>,
  input: Input<NoInfer<I>>,
  { unchecked, onLost }: { readonly unchecked?: boolean | undefined; onLost?(entries: string): void } = {},
): AsyncGenerator<readonly T[]> {
  let state = startWalk();
  while (!state.done) {
    const page = { ...input, limit: PAGE, cursor: state.cursor };
    const { data, misread } = await sendFreeWithRetries(deps, endpoint, page, sentWith({ unchecked }));
    const lost = misread.filter((one) => one.isLost);
    if (lost.length > 0) onLost?.(misreadText(lost));
    const step = next<T>(state, data);
    state = step.state;
    yield step.items;
  }
}

/** Returns the matching monitors of all pages, each once. A list that shifts while it is read may repeat a monitor. */
export async function listStates(deps: Deps, filter: MonitorFilter): Promise<MonitorState[]> {
  const found = new Map<string, MonitorState>();
  for await (const page of pagesOf(deps, listMonitorsEndpoint, { ...filter })) {
    for (const monitor of page) found.set(monitor.id, stateOf(deps, monitor));
  }
  return [...found.values()];
}

/** Returns the present state of one monitor; null if the monitor does not exist. */
export async function readState(deps: Deps, id: string): Promise<MonitorState | null> {
  const monitor = await sendUnlessGone(deps, getMonitorEndpoint, { id });
  return monitor && stateOf(deps, monitor);
}

/** Sets the status of a monitor; returns null if the monitor does not exist. A repeated call changes at most `updatedAt`. */
export async function setStatus(deps: Deps, id: string, status: 'active' | 'paused'): Promise<MonitorState | null> {
  const monitor = await sendUnlessGone(deps, updateMonitorEndpoint, { id, status });
  return monitor && stateOf(deps, monitor);
}

function stateOf({ sha256 }: Deps, monitor: Monitor): MonitorState {
  const { id, name = null, status = null, updatedAt = null } = monitor;
  const { search, trigger, outputSchema, metadata, webhook } = monitor;
  const owned = [name, search, trigger, outputSchema, metadata, redactAnswer(webhook, listMonitorsEndpoint.secrets)];
  const definition = sha256(canonicalJson(owned)).slice(0, DIGEST);
  return { id, name, status, updatedAt, definition };
}

/** Returns a failure that Temporal does not retry. */
export function refusal(message: string, type: string = localFailures.badInput): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}
