import { setTimeout as delay } from 'node:timers/promises';
import { verifyWebhook, WebhookRefused } from './api/verify-webhook.js';
import type { Secret } from './core/connections/secret.js';
import { monitorSignals, monitorWorkflows } from './core/monitors/monitor-names.js';
import { DEFAULT_TASK_QUEUE } from './core/rows/job-names.js';
import type { ExportMonitorRunsInput } from './core/workflow-input-schemas.js';

/** The part of Temporal's `Client` that a doorbell needs. */
export interface SignallingClient {
  readonly workflow: {
    signalWithStart(
      workflow: string,
      options: {
        workflowId: string;
        taskQueue: string;
        args: [ExportMonitorRunsInput];
        signal: string;
        signalArgs: [];
      },
    ): Promise<unknown>;
  };
}

export interface MonitorWebhookOptions {
  /** The `webhookSecret` that `createMonitor` returned. */
  readonly secret: string | Secret;
  readonly client: SignallingClient;
  /** Input of the workflow `exportMonitorRuns`: the warehouse, and which monitors. Default: all monitors, into its default. */
  readonly input?: ExportMonitorRunsInput;
  /** Default `searchflow`, the queue of `searchflow worker`. */
  readonly taskQueue?: string;
  /** Id of the export: webhooks with one id share an export. Default `searchflow-monitor-runs`. */
  readonly workflowId?: string;
  /** Header with the signature. Default `Exa-Signature`. */
  readonly header?: string;
}

/** The largest body that is read, in bytes. */
const MOST_BYTES = 1_048_576;
/** A late webhook counts, too, because it only leads to free reads. In seconds. */
const TOLERANCE_SECONDS = 7 * 86_400;
/** The longest wait for Temporal, in ms. */
const SIGNAL_MS = 10_000;

/**
 * Returns a handler of the webhooks of monitors, for any server with `Request` and `Response`. A webhook is a doorbell: it starts the
 * workflow `exportMonitorRuns`, or tells a running one that there are new runs. The data come from the service by free reads, so a lost
 * webhook loses nothing, and a repeated one changes nothing. Answers 202 only when the export has been signalled; 401 or 400 for a wrong
 * signature or body; 503 if Temporal does not take the signal, so that the sender repeats the webhook. Throws `TypeError` for an empty secret.
 */
export function monitorWebhook(options: MonitorWebhookOptions): (request: Request) => Promise<Response> {
  const { secret, client, input = {}, header = 'Exa-Signature' } = options;
  const { taskQueue = DEFAULT_TASK_QUEUE, workflowId = 'searchflow-monitor-runs' } = options;
  if (!secret) throw new TypeError('monitorWebhook needs the webhookSecret that createMonitor returned');
  const signal = { signal: monitorSignals.runsChanged, signalArgs: [] as [] };
  const ring = async () => {
    await client.workflow.signalWithStart(monitorWorkflows.exportMonitorRuns, {
      ...{ workflowId, taskQueue, args: [input], ...signal },
    });
    return true;
  };
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    const body = await bodyOf(request);
    if (body === null) return new Response(null, { status: 413 });
    try {
      verifyWebhook(body, request.headers.get(header), secret, { toleranceSeconds: TOLERANCE_SECONDS });
    } catch (error) {
      if (!(error instanceof WebhookRefused)) throw error;
      return new Response(`${error.message}\n`, { status: error.problem === 'no-event' ? 400 : 401 });
    }
    const late = new AbortController();
    const isSignalled = await Promise.race([
      ring().catch(() => false),
      delay(SIGNAL_MS, false, { signal: late.signal }),
    ]);
    late.abort();
    if (isSignalled) return new Response(null, { status: 202 });
    return new Response('Temporal does not take the signal; send the webhook again\n', { status: 503 });
  };
}

/** The body, unparsed; null if it is too large. */
async function bodyOf({ body }: Request): Promise<Buffer | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
