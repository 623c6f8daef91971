import { hostname } from 'node:os';
import type { StagedJob } from '../core/job.js';
import { type Sink, SinkBusy } from '../core/sink.js';
import { createSinks } from '../sinks/index.js';
import type { RuntimeConfig } from './runtime-types.js';

/** The warehouses of a process, as jobs name them. */
export interface Warehouses {
  of(staged: Pick<StagedJob, 'into' | 'host'>): Sink;
  close(): Promise<void>;
}

/**
 * Opens warehouses with the credentials of the configuration, which jobs don't hold. A file of another machine is `SinkBusy`: its
 * job's activities are tried again until a worker there gets them.
 */
export function openWarehouses({ say, warehouse }: Pick<RuntimeConfig, 'say' | 'warehouse'>): Warehouses {
  const sinks = createSinks({
    say,
    credentialsFor: (address) => (warehouse?.shown === address ? warehouse.url : null),
  });
  return {
    of({ into, host }) {
      if (host === undefined || host === hostname()) return sinks.open(into);
      throw new SinkBusy(`The warehouse ${into} is a file on ${host}, where its job's workers must run`, null);
    },
    close: () => sinks.close(),
  };
}
