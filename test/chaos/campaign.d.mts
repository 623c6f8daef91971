export interface CampaignOptions {
  readonly shape?: 'rows' | 'search' | 'agents' | 'events' | 'monitors' | 'postgres';
  /** Number of disturbances; most of them are kills. */
  readonly kills?: number;
  readonly seed?: number;
  /** Database of the warehouse; each shape has a default. */
  readonly into?: 'duckdb' | 'postgres';
  /** `rows`: number of rows of each job. `monitors`: number of monitors of each batch. */
  readonly rows?: number;
  readonly monitors?: number;
  say?(sentence: string): void;
  /** When the signal aborts, the campaign ends early and its processes are killed. */
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
  /** A sentence for each broken promise. */
  readonly findings: readonly string[];
}

/** Runs a campaign. It needs Linux and the built command. */
export function runCampaign(options: CampaignOptions): Promise<CampaignReport>;
