import { defineSignal, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import type { signalNames } from '../../core/rows/job.js';

export type SignalHandlers = {
  readonly [Name in keyof typeof signalNames]?: (content?: never) => void;
};

/**
 * Sets the handlers of a workflow's signals, in its first step. Signals that came before that step are handled in the order of their
 * arrival. The SDK would first handle all signals of one name: after `pause`, `resume` and `pause`, the work would run.
 */
export function handleSignals(handlers: SignalHandlers): void {
  const early: { readonly name: string; readonly content: unknown }[] = [];
  setDefaultSignalHandler((name, content) => void early.push({ name, content }));
  setDefaultSignalHandler(undefined);
  const named = new Map(Object.entries(handlers) as [string, (content?: unknown) => void][]);
  for (const [name, handler] of named) setHandler(defineSignal<[unknown?]>(name), handler);
  for (const { name, content } of early) named.get(name)?.(content);
}
