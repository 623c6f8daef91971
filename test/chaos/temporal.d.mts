/** A Temporal server of its own. `kill` and `start` keep its data and its port. */
export interface KillableTemporal {
  readonly address: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server whose data is in this folder. */
export function startTemporal(dir: string): Promise<KillableTemporal>;
