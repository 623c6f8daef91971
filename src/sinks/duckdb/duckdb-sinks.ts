import { resolve } from 'node:path';
import type { Sink } from '../../core/sink.js';
import { createDuckDbSink } from './duckdb-sink.js';

/** The warehouses of a process, one sink a file however often it is asked for. */
export interface Sinks {
  open(file: string): Sink;
  /** Closes them all, when what waits is done. */
  close(): Promise<void>;
}

export function createDuckDbSinks(options: { readonly say?: (sentence: string) => void } = {}): Sinks {
  const sinks = new Map<string, Sink>();
  return {
    open(file) {
      const path = resolve(file);
      const sink = sinks.get(path) ?? createDuckDbSink({ ...options, file: path });
      sinks.set(path, sink);
      return sink;
    },
    async close() {
      await Promise.all([...sinks.values()].map((sink) => sink.close()));
    },
  };
}
