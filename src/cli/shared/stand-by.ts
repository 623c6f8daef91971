import { setTimeout as delay } from 'node:timers/promises';
import type { Runtime } from '../../worker/config/runtime-types.js';
import type { EmbeddedSandbox } from './embedded-sandbox.js';

/** What a command stands by with. */
export interface StandBy {
  readonly runtime: Pick<Runtime, 'clientOnly' | 'takeOver'>;
  readonly sandbox: Pick<EmbeddedSandbox, 'keep'> | null;
  readonly say: (sentence: string) => void;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/**
 * While another process of the folder runs the worker, or owns the sandbox, this one is ready to take its place: whatever ends that
 * process, what is watched here goes on. Resolves when aborted.
 */
export async function standBy({ runtime, sandbox, say, signal, everyMs = 1000 }: StandBy): Promise<void> {
  let reported = false;
  let trouble = '';
  while (!signal.aborted) {
    try {
      await sandbox?.keep();
      if (runtime.clientOnly) {
        if (!reported)
          say('Another process of this folder runs the worker; this one watches, and takes its place when it ends.');
        reported = true;
        if (await runtime.takeOver()) say('The process that ran the worker has ended; this one runs it now.');
      }
      trouble = '';
    } catch (error) {
      // Told once: it is tried again and again.
      const message = error instanceof Error ? error.message : String(error);
      if (message !== trouble && !signal.aborted)
        say(`The place of the process that ended can't be taken yet: ${message}`);
      trouble = message;
    }
    await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
