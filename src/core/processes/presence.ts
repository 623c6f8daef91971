/** Identifies a worker process. */
export interface WorkerHolder {
  readonly host: string;
  readonly pid: number;
  /** Distinguishes this process from a later process with the same pid, where the system can. */
  readonly startTime: string | null;
  /** Unix ms. */
  readonly since: number;
  /** The shared store, without its credentials; null: the worker has its own folder. */
  readonly store: string | null;
}

/** A worker whose limit is not the team's. */
export type OtherLimit = Pick<WorkerHolder, 'host' | 'pid'>;
