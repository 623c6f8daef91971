export interface CampaignOptions {
  readonly shape?: 'rows' | 'search' | 'agents' | 'events' | 'monitors' | 'postgres';
  /** Number of disturbances; most of them are kills. */
  readonly kills?: number;
  readonly seed?: number;
  /** Address of the warehouse; default: that of the shape. */
  readonly into?: 'duckdb' | 'postgres';
  /** Rows of each job, and monitors of each batch. */
  readonly rows?: number;
  readonly monitors?: number;
  say?(sentence: string): void;
  /** Ends the campaign early, together with its processes. */
  readonly interrupt?: AbortSignal;
}

export interface CampaignReport {
  readonly shape: string;
  readonly seed: number;
  readonly seconds: number;
  /** Number of times each disturbance happened. */
  readonly done: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  readonly figures: Readonly<Record<string, unknown>>;
  /** Broken promises. */
  readonly findings: readonly string[];
}

/** Needs Linux and the built command. */
export function runCampaign(options: CampaignOptions): Promise<CampaignReport>;
