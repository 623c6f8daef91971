import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Secret } from '../../core/text/secret.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import type { SandboxOptions } from '../../sandbox/index.js';
import { contentsQps } from '../../worker/config/config.js';
import type { RuntimeConfig } from '../../worker/config/runtime-types.js';

/** What a sandbox says it sold; dollars in whole millionths. */
export interface SandboxBill {
  readonly micros: number;
  readonly requests: number;
}

/** The sandbox that keyless commands of a folder work on: started here, or by another command that still runs. */
export interface EmbeddedSandbox {
  readonly url: string;
  /** Null where the process that owns it has ended. */
  bill(): Promise<SandboxBill | null>;
  /** Starts it here, at the same address, where the process that owned it has ended. Throws where it can't be had. */
  keep(): Promise<void>;
  close(): Promise<void>;
}

interface Thread {
  readonly url: string;
  close(): Promise<void>;
}

/** Milliseconds an answer takes: enough to see a bar move, little enough not to wait. */
const LATENCY_MS = 150;

/** A sandbox starts well within this time. */
const START_MS = 30_000;

/** The sandbox takes any key but no request without one. */
const sandboxKey = 'sandbox';

/**
 * Starts the sandbox of this state directory, strict about the configured limit, its book kept in `sandbox/book.jsonl`; or
 * joins the one that another command here already runs, because two would keep two accounts in one book.
 */
export async function openSandbox(config: RuntimeConfig): Promise<EmbeddedSandbox> {
  const folder = join(config.stateDir, 'sandbox');
  const locked = <T>(work: () => Promise<T>) =>
    withLock(join(folder, 'sandbox.lock'), work, { waitMs: START_MS, say: config.say });
  let { url, thread } = await locked(() => joinOrStart(config, folder, null));
  let keeping: Promise<void> | null = null;
  let closed = false;
  const startHere = async (): Promise<void> => {
    ({ url, thread } = await locked(() => joinOrStart(config, folder, url)));
  };
  return {
    url,
    bill: () => fetchBill(url),
    async keep() {
      if (thread !== null || closed || (await fetchBill(url)) !== null || closed) return;
      keeping ??= startHere().finally(() => {
        keeping = null;
      });
      await keeping;
    },
    async close() {
      closed = true;
      await keeping?.catch(() => undefined);
      await thread?.close();
    },
  };
}

/** `at`: where it must be, because somebody asks there already; null: where it was, if it can be. */
async function joinOrStart(
  config: RuntimeConfig,
  folder: string,
  at: string | null,
): Promise<{ readonly url: string; readonly thread: Thread | null }> {
  const announced = join(folder, 'sandbox.json');
  const running = readAnnounced(announced);
  if (running !== null && (at ?? running) === running && (await fetchBill(running)) !== null)
    return { url: running, thread: null };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const options: Partial<SandboxOptions> = {
    bookFile: join(folder, 'book.jsonl'),
    qps: contentsQps(config.rate),
    latencyMs: LATENCY_MS,
    retryAfter: 'seconds',
    events: { count: EVENTS, ...(await historyOf(folder)) },
  };
  // Where it was before, if it can be: workers that share a store go on asking there.
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

/** Enough webset events that reading them takes a few seconds. */
const EVENTS = 5000;
const HISTORY_MS = 30 * 86_400_000;

/** The past does not change when the sandbox is started anew: its history ends when it was started first. */
async function historyOf(folder: string): Promise<{ readonly from: string; readonly to: string }> {
  const file = join(folder, 'history-ends.txt');
  const known = existsSync(file) ? Date.parse(readFileSync(file, 'utf8')) : Number.NaN;
  const to = Number.isFinite(known) ? known : Date.now();
  if (to !== known) await writeDurably(file, new Date(to).toISOString());
  return { from: new Date(to - HISTORY_MS).toISOString(), to: new Date(to).toISOString() };
}

async function startThread(options: Partial<SandboxOptions>): Promise<Thread> {
  const thread = new Worker(new URL('./sandbox-thread.js', import.meta.url), { workerData: options });
  const ended = once(thread, 'exit');
  // `once` rejects with the thread's own error, should it end by one.
  const [said] = (await once(thread, 'message')) as [{ readonly url?: string; readonly error?: string }];
  if (said.url === undefined) throw new Error(`The sandbox could not be started: ${said.error}`);
  return {
    url: said.url,
    close: async () => {
      thread.postMessage('close');
      await ended;
    },
  };
}

/** The same configuration, pointed at a sandbox. */
export function onSandbox(config: RuntimeConfig, sandbox: EmbeddedSandbox): RuntimeConfig {
  return Object.freeze({ ...config, baseUrl: sandbox.url, apiKey: new Secret(sandboxKey) });
}

function readAnnounced(path: string): string | null {
  try {
    const { url } = JSON.parse(readFileSync(path, 'utf8')) as { url?: unknown };
    return typeof url === 'string' && url.startsWith('http://127.0.0.1:') ? url : null;
  } catch {
    // No file, or one that a dying process left half written: there is no sandbox to join.
    return null;
  }
}

async function fetchBill(url: string): Promise<SandboxBill | null> {
  try {
    const response = await fetch(`${url}/__sandbox/bill?keys=0`, { signal: AbortSignal.timeout(2000) });
    const { micros, requests } = (await response.json()) as { micros?: unknown; requests?: unknown };
    return typeof micros === 'number' && typeof requests === 'number' ? { micros, requests } : null;
  } catch {
    // Nobody answers, or somebody else has the port now.
    return null;
  }
}
