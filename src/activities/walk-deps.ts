import type { EventWarehouse } from '../core/event-warehouse.js';
import type { Walk } from '../core/walk-job.js';
import type { ActivityDeps } from './deps.js';

/** Where walks find their warehouses. */
export interface WalkPlaces {
  /** The warehouse of a walk; the same one for the same address. Rejects with `SinkBusy` where only another machine can reach it, and with `BadInput` where a worker here may not. */
  warehouse(walk: Pick<Walk, 'into' | 'host'>): Promise<EventWarehouse>;
}

/** What the activities of a walk need. */
export type WalkDeps = Pick<ActivityDeps, 'transport' | 'origin' | 'limiter' | 'events'>;
