import { hostname } from 'node:os';
import type { StagedJob } from '../core/job.js';
import { type Sink, SinkBusy, SinkUnusable } from '../core/sink.js';
import { PostgresRefused } from '../postgres/index.js';
import { createSinks } from '../sinks/index.js';
import type { RuntimeConfig } from './runtime-types.js';

/** The warehouses of a process, as jobs name them. */
export interface Warehouses {
  of(staged: Pick<StagedJob, 'into' | 'host'>): Sink;
  close(): Promise<void>;
}

/**
 * Opens warehouses with the credentials of the configuration, which jobs don't hold. A file of another machine is `SinkBusy`: its
 * job's activities are tried again until a worker there gets them. `oneOfMany`: so is a database that this worker may not log in
 * to, since another may.
 */
export function openWarehouses(
  { say, warehouse }: Pick<RuntimeConfig, 'say' | 'warehouse'>,
  oneOfMany: boolean,
): Warehouses {
  const sinks = createSinks({
    say,
    credentialsFor: (address) => (warehouse?.shown === address ? warehouse.url : null),
  });
  return {
    of({ into, host }) {
      if (host !== undefined && host !== hostname())
        throw new SinkBusy(`The warehouse ${into} is a file on ${host}, where its job's workers must run`, null);
      return oneOfMany ? leftToOthers(sinks.open(into), say) : sinks.open(into);
    },
    close: () => sinks.close(),
  };
}

/** The same warehouse; being refused to log in is told, and left to a worker that is not. */
function leftToOthers(sink: Sink, say: RuntimeConfig['say']): Sink {
  const told = (error: unknown): unknown => {
    const cause = error instanceof SinkUnusable ? error.cause : null;
    if (!(cause instanceof PostgresRefused) || !/^(28|3D)/.test(cause.code ?? '')) return error;
    const sentence = `A worker on ${hostname()} (PID ${process.pid}) can't load: ${(error as SinkUnusable).message}`;
    say(sentence);
    return new SinkBusy(sentence, null);
  };
  return new Proxy(sink, {
    get(found, name) {
      const method: unknown = Reflect.get(found, name, found);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        try {
          return await method.apply(found, args);
        } catch (error) {
          throw told(error);
        }
      };
    },
  });
}
