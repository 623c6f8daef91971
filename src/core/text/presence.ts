/** Who a worker process is, for the one that finds it. */
export interface WorkerHolder {
  readonly host: string;
  readonly pid: number;
  /** Tells this process from a later one of its number, where the system can. */
  readonly startTime: string | null;
  /** Unix ms. */
  readonly since: number;
  /** The store that it shares with others, without its credentials; null: its folder is its own. */
  readonly store: string | null;
}

/** A worker whose limit is not the team's. */
export type OtherLimit = Pick<WorkerHolder, 'host' | 'pid'>;
