import { setTimeout as delay } from 'node:timers/promises';
import type { Runtime } from '../../worker/runtime/views.js';
import type { EmbeddedSandbox } from './embedded-sandbox.js';

/** What a standby watches and needs. */
export interface StandBy {
  readonly runtime: Pick<Runtime, 'clientOnly' | 'takeOver'>;
  readonly sandbox: Pick<EmbeddedSandbox, 'keep'> | null;
  readonly say: (sentence: string) => void;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/**
 * When the process that runs the worker and the sandbox of the folder ends, takes over both, so that the work that this
 * command watches continues. Resolves when `signal` is aborted.
 */
export async function standBy({ runtime, sandbox, say, signal, everyMs = 1000 }: StandBy): Promise<void> {
  let reported = false;
  let trouble = '';
  while (!signal.aborted) {
    try {
      await sandbox?.keep();
      if (runtime.clientOnly === 'folder') {
        if (!reported) say("Another process is running this folder's worker. Standing by to take over.");
        reported = true;
        if (await runtime.takeOver()) say("That process has ended. This one is running the folder's worker now.");
      }
      trouble = '';
    } catch (error) {
      // A problem that repeats is reported once. Every round retries.
      const message = error instanceof Error ? error.message : String(error);
      if (message !== trouble && !signal.aborted) say(`Cannot take over yet: ${message}`);
      trouble = message;
    }
    await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
