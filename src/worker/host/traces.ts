import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { type ActivityIds, countsOf, failedRequest, failureOf, type Observer } from './observed.js';

/** Longest wait for the exporter at the end of a worker, in ms. */
const FLUSH_MS = 2000;

/**
 * Spans of activities and, as their children, of requests, for the tracer provider that the program has registered with OpenTelemetry. They
 * have ids, outcomes, counts and costs, never an input, an answer or a message. Without a provider nothing is recorded.
 */
export const traces: Observer = {
  activity: (ids, call) =>
    inSpan(`searchflow:${ids.activity}`, SpanKind.INTERNAL, parentOf(ids), attributesOf(ids), call, {
      ended: (result) => named({ outcome: 'ok', ...countsOf(result) }),
      failed: (error) => {
        const { type, isExpected } = failureOf(error);
        return { attributes: named({ outcome: type }), isError: !isExpected };
      },
    }),
  request: ({ name, paid, retry }, call) =>
    inSpan(`request:${name}`, SpanKind.CLIENT, context.active(), named({ operation: name }), call, {
      ended: ({ requestId, costMicros = null }) =>
        named({
          ...{ outcome: 'ok', request_id: requestId },
          // The start of a run does not know the cost of the run.
          costMicros: paid && retry !== 'adopt' ? costMicros : null,
        }),
      failed: (error) => {
        const failed = failedRequest(error);
        if (!failed) return { attributes: named({ outcome: 'refused' }), isError: true };
        const { status, tag } = failed.facts;
        const { type, charged } = failed.verdict;
        return {
          attributes: {
            ...named({ outcome: type, request_id: failed.requestId, charged, error_tag: tag }),
            ...(status === null ? {} : { 'http.response.status_code': status }),
          },
          isError: true,
        };
      },
    }),
};

/** Waits until the registered provider has exported its spans, at most two seconds. Never rejects. */
export async function flushSpans(withinMs = FLUSH_MS): Promise<void> {
  const provider = trace.getTracerProvider() as { getDelegate?(): unknown };
  const { forceFlush } = (provider.getDelegate?.() ?? provider) as { forceFlush?(): Promise<void> };
  if (!forceFlush) return;
  const over = new AbortController();
  const flushed = Promise.resolve()
    .then(() => forceFlush.call(provider.getDelegate?.() ?? provider))
    .catch(() => undefined);
  await Promise.race([flushed, delay(withinMs, undefined, { signal: over.signal }).catch(() => undefined)]);
  over.abort();
}

interface Outcomes<T> {
  ended(result: T): Attributes;
  failed(error: unknown): { readonly attributes: Attributes; readonly isError: boolean };
}

async function inSpan<T>(
  name: string,
  kind: SpanKind,
  parent: Context,
  attributes: Attributes,
  call: () => Promise<T>,
  outcomes: Outcomes<T>,
): Promise<T> {
  const span = safely(() => trace.getTracer('searchflow').startSpan(name, { kind, attributes }, parent));
  if (!span) return call();
  const end = (found: Attributes, isError: boolean) =>
    safely(() => {
      span.setAttributes(found);
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
  try {
    const result = await within(span, parent, call);
    end(outcomes.ended(result), false);
    return result;
  } catch (error) {
    const { attributes: found, isError } = outcomes.failed(error);
    end(found, isError);
    throw error;
  }
}

/** Runs `call` once with the span as the active one, or without it if the context manager of the program fails. */
function within<T>(span: Span, parent: Context, call: () => Promise<T>): Promise<T> {
  let called: Promise<T> | null = null;
  const once = () => {
    called ??= (async () => call())();
    return called;
  };
  return safely(() => context.with(trace.setSpan(parent, span), once)) ?? once();
}

/** The context of an activity's span: the active span, such as that of Temporal's own interceptor, else the trace of the workflow's run. */
function parentOf({ runId }: ActivityIds): Context {
  const active = context.active();
  if (runId === undefined || trace.getSpan(active)) return active;
  // A run id has as many hexadecimal digits as a trace id, so that all activities of a run are in one trace that is found by its run id.
  const traceId = runId.replaceAll('-', '').toLowerCase();
  const spanContext = { traceId, spanId: traceId.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.isSpanContextValid(spanContext) ? trace.setSpanContext(active, spanContext) : active;
}

/** Attributes of an activity. Ids of Temporal have the names that Temporal's own interceptors use. */
function attributesOf({ job, slice, window, attempt, workflowId, runId, activityId }: ActivityIds): Attributes {
  const ids = { temporalWorkflowId: workflowId, run_id: runId, temporalActivityId: activityId };
  return { ...named({ job, slice, window, attempt }), ...present(ids) };
}

/** Attributes of searchflow; absent values are left out. */
function named({ costMicros, ...values }: Readonly<Record<string, unknown>>): Attributes {
  const found = Object.entries(present({ ...values, cost_microdollars: costMicros }));
  return Object.fromEntries(found.map(([name, value]) => [`searchflow.${name}`, value]));
}

function present(values: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  ) as Attributes;
}

/** Calls code of the program's provider, whose failures must not change the work. Null after a failure. */
function safely<T>(call: () => T): T | null {
  try {
    return call();
  } catch {
    return null;
  }
}
