import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Secret } from '../../core/connections/secret.js';
import { CodedError } from '../../core/errors/coded-error.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import type { SandboxOptions } from '../../sandbox/index.js';
import { contentsQps } from '../../worker/config/derived-settings.js';
import type { RuntimeConfig } from '../../worker/config/runtime-types.js';

export interface SandboxBill {
  readonly micros: number;
  readonly requests: number;
}

/** The sandbox that commands without a key use. This command or another command of the folder has started it. */
export type EmbeddedSandbox = Awaited<ReturnType<typeof openSandbox>>;

/** Latency of the sandbox in ms: long enough that a progress bar can be watched. */
const LATENCY_MS = 150;

/** Interval at which a command checks that the sandbox of another command answers. */
const KEEP_MS = 1000;
/** Longest wait for another command that is starting the sandbox. */
const START_MS = 30_000;

/** The sandbox accepts any key, but requires one. */
const sandboxKey = 'sandbox';

/**
 * Opens the sandbox of this state folder. If another command of the folder runs a sandbox, joins that sandbox, because two
 * sandboxes would write to one ledger. Otherwise starts a sandbox with the configured rate limit and the ledger in
 * `sandbox/ledger.jsonl`.
 */
export async function openSandbox(config: RuntimeConfig) {
  const folder = join(config.stateDir, 'sandbox');
  const lock = join(folder, 'sandbox.lock');
  const open = (at: string | null) =>
    withLock(lock, () => joinOrStart(config, folder, at), { waitMs: START_MS, say: config.say });
  let { url, thread } = await open(null);
  const closed = new AbortController();
  /** Once the process of the sandbox has ended, starts the sandbox here, at the same address. */
  const keep = async () => {
    while (thread === null && !closed.signal.aborted)
      try {
        await delay(KEEP_MS, undefined, { signal: closed.signal, ref: false });
        if ((await fetchBill(url)) === null && !closed.signal.aborted) ({ url, thread } = await open(url));
      } catch (error) {
        // Another program may use the address for a while.
        const message = error instanceof Error ? error.message : String(error);
        if (!closed.signal.aborted) config.say(`Cannot take over the sandbox yet: ${message}`);
      }
  };
  const kept = keep();
  return {
    url,
    /** Returns the bill of the purchase log; null if the process of the sandbox has ended. */
    bill: () => fetchBill(url),
    async close() {
      closed.abort();
      await kept;
      await thread?.close();
    },
  };
}

/** `at`: the URL that clients already use, so the sandbox must have this URL. Null: the last URL if it is free, otherwise any URL. */
async function joinOrStart(config: RuntimeConfig, folder: string, at: string | null) {
  const announced = join(folder, 'sandbox.json');
  const running = readAnnounced(announced);
  if (running !== null && (at ?? running) === running && (await fetchBill(running)) !== null)
    return { url: running, thread: null };
  makeFolder(folder);
  const options: Partial<SandboxOptions> = {
    ledgerFile: join(folder, 'ledger.jsonl'),
    qps: contentsQps(config.rate),
    latencyMs: LATENCY_MS,
    retryAfter: 'seconds',
    // The ledger keeps the range of their times.
    events: { count: EVENTS },
  };
  // The last URL is used again, because workers that share a store still send requests to this URL.
  const before = at ?? running;
  const sameAgain = () => startThread({ ...options, port: Number(new URL(before as string).port) });
  const thread = await (before === null
    ? startThread(options)
    : at === null
      ? sameAgain().catch(() => startThread(options))
      : sameAgain());
  await writeDurably(announced, JSON.stringify({ pid: process.pid, url: thread.url }));
  return { url: thread.url, thread };
}

/** Number of webset events: a walk over them takes a few seconds. */
const EVENTS = 5000;

async function startThread(options: Partial<SandboxOptions>) {
  const thread = new Worker(inPackage('dist', 'bin', 'sandbox-thread.js'), { workerData: options });
  const ended = once(thread, 'exit');
  // `once` rejects if the thread fails.
  const [said] = (await once(thread, 'message')) as [{ readonly url?: string; readonly error?: string }];
  if (said.url === undefined) throw new CodedError('sandbox-unreachable', `The sandbox did not start: ${said.error}`);
  return {
    url: said.url,
    close: async () => {
      thread.postMessage('close');
      await ended;
    },
  };
}

export function onSandbox(config: RuntimeConfig, sandbox: EmbeddedSandbox): RuntimeConfig {
  return Object.freeze({ ...config, baseUrl: sandbox.url, apiKey: new Secret(sandboxKey) });
}

function readAnnounced(path: string): string | null {
  try {
    const { url } = JSON.parse(readFileSync(path, 'utf8')) as { url?: unknown };
    return typeof url === 'string' && url.startsWith('http://127.0.0.1:') ? url : null;
  } catch {
    // A missing or partial file means that there is no sandbox to join.
    return null;
  }
}

async function fetchBill(url: string): Promise<SandboxBill | null> {
  try {
    const response = await fetch(`${url}/__sandbox/bill?keys=0`, { signal: AbortSignal.timeout(2000) });
    const { micros, requests } = (await response.json()) as { micros?: unknown; requests?: unknown };
    return typeof micros === 'number' && typeof requests === 'number' ? { micros, requests } : null;
  } catch {
    // The port is closed, or another program uses the port.
    return null;
  }
}
