import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { afterEach, expect, it } from 'vitest';
import type { Transport } from '../../../src/api/transport.js';
import { type ActivityIds, observedTransport } from '../../../src/worker/host/observed.js';
import { flushSpans, traces } from '../../../src/worker/host/traces.js';
import { answered, failure } from '../../support/activities/purchase-setting.js';

afterEach(() => {
  for (const api of [trace, context, propagation]) api.disable();
});

/** Registers a tracer provider, as the owner of a program does. Returns the spans that ended. */
function register(...processors: readonly SpanProcessor[]) {
  const exporter = new InMemorySpanExporter();
  new NodeTracerProvider({ spanProcessors: [...processors, new SimpleSpanProcessor(exporter)] }).register();
  return () => exporter.getFinishedSpans();
}

const endpoint = (changes: object = {}) => ({ name: 'search', paid: true, retry: 'rebuy', ...changes }) as never;
const transportOf = (send: () => unknown) =>
  observedTransport({ send: async () => send(), sendRawList: async () => send() } as unknown as Transport, [traces]);
const tracedActivity = <T>(ids: ActivityIds, call: () => Promise<T>) =>
  (traces.activity as NonNullable<typeof traces.activity>)(ids, call);
const ids: ActivityIds = {
  ...{ job: 'rows', workflowId: 'rows-1', runId: '019a5c1e-7d5c-7f00-8a11-5d3f0b6a9c01', slice: 3 },
  ...{ activity: 'enrichSlice', activityId: '7', attempt: 2 },
};

it('requests are children of the span of their activity, with ids, outcome and cost', async () => {
  const spans = register();
  const { send } = transportOf(() => ({ requestId: 'r-1', costMicros: 5000 }));
  await tracedActivity(ids, async () => {
    await send(endpoint(), {}, {});
    await send(endpoint({ name: 'createAgentRun', retry: 'adopt' }), {}, {});
    return { complete: true, bought: 10, failed: 1, costMicros: 5000, rows: 10, answers: { secret: 'x' } };
  });
  const [search, start, slice] = spans();
  expect([search?.name, start?.name, slice?.name]).toEqual([
    'request:search',
    'request:createAgentRun',
    'searchflow:enrichSlice',
  ]);
  expect([search?.parentSpanId, start?.parentSpanId]).toEqual([
    slice?.spanContext().spanId,
    slice?.spanContext().spanId,
  ]);
  // Without a span of the program's own, all activities of a run are in the trace with the id of the run.
  expect(slice?.spanContext().traceId).toBe('019a5c1e7d5c7f008a115d3f0b6a9c01');
  expect(search?.attributes).toEqual({
    'searchflow.operation': 'search',
    'searchflow.outcome': 'ok',
    'searchflow.request_id': 'r-1',
    'searchflow.cost_microdollars': 5000,
  });
  // The cost of a run is not known at its start.
  expect(start?.attributes).not.toHaveProperty('searchflow.cost_microdollars');
  expect(slice?.attributes).toEqual({
    'searchflow.job': 'rows',
    'searchflow.slice': 3,
    'searchflow.attempt': 2,
    temporalWorkflowId: 'rows-1',
    run_id: ids.runId,
    temporalActivityId: '7',
    'searchflow.outcome': 'ok',
    'searchflow.complete': true,
    'searchflow.rows': 10,
    'searchflow.bought': 10,
    'searchflow.failed': 1,
    'searchflow.cost_microdollars': 5000,
  });
});

it('failures have their type and tag, and never a message', async () => {
  const spans = register();
  const { send, sendRawList } = transportOf(() => {
    throw failure(answered(400, 'INVALID_URLS'), 'the prompt "canary" is wrong');
  });
  await expect(send(endpoint(), {}, {})).rejects.toThrow('canary');
  await expect(sendRawList(endpoint({ paid: false }), {}, {})).rejects.toThrow('canary');
  const failing = (category?: ApplicationFailureCategory) =>
    tracedActivity(ids, async () => {
      throw ApplicationFailure.create({ type: 'BadInput', message: 'canary', category });
    });
  await expect(failing()).rejects.toThrow('canary');
  await expect(failing(ApplicationFailureCategory.BENIGN)).rejects.toThrow('canary');
  const [request, list, failed, waiting] = spans();
  expect(request?.attributes).toEqual({
    'searchflow.operation': 'search',
    'searchflow.outcome': 'InvalidRequest',
    'searchflow.charged': 'never',
    'searchflow.error_tag': 'INVALID_URLS',
    'http.response.status_code': 400,
  });
  expect(list?.attributes).toEqual(request?.attributes);
  expect(failed?.attributes).toMatchObject({ 'searchflow.outcome': 'BadInput' });
  // An activity that waits is no error.
  expect([request, failed, waiting].map((span) => span?.status.code)).toEqual([
    SpanStatusCode.ERROR,
    SpanStatusCode.ERROR,
    SpanStatusCode.UNSET,
  ]);
  expect(JSON.stringify(spans().map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
    'canary',
  );
});

it('a tracer provider that throws or hangs changes nothing about paid answers', async () => {
  const broken = () => {
    throw new Error('the exporter is broken');
  };
  const { send } = transportOf(() => ({ requestId: null, costMicros: null }));
  const lives = { shutdown: async () => undefined, forceFlush: () => new Promise<void>(() => undefined) };
  for (const processor of [
    { ...lives, onStart: broken, onEnd: broken },
    { ...lives, onStart: () => undefined, onEnd: broken },
  ]) {
    register(processor);
    expect(await tracedActivity(ids, () => send(endpoint(), {}, {}))).toEqual({ requestId: null, costMicros: null });
    await flushSpans(10);
    trace.disable();
  }
  // Without a provider nothing is recorded.
  expect(await send(endpoint(), {}, {})).toEqual({ requestId: null, costMicros: null });
  await flushSpans();
});

it('activities are children of an active span of the program', async () => {
  const spans = register();
  const tracer = trace.getTracer('own');
  await tracer.startActiveSpan('own', async (own) => {
    await tracedActivity(ids, async () => null);
    own.end();
  });
  const [slice, own] = spans();
  expect(slice?.parentSpanId).toBe(own?.spanContext().spanId);
  expect(slice?.spanContext().traceId).toBe(own?.spanContext().traceId);
});
