export interface CampaignOptions {
  readonly shape?: 'rows' | 'search' | 'agents' | 'events' | 'monitors' | 'postgres';
  /** How many disturbances: kills most of all. */
  readonly kills?: number;
  readonly seed?: number;
  /** Where the warehouse is; default: what the shape has. */
  readonly into?: 'duckdb' | 'postgres';
  /** Of each job, and of each batch. */
  readonly rows?: number;
  readonly monitors?: number;
  say?(sentence: string): void;
  /** Ends the campaign early, its processes with it. */
  readonly interrupt?: AbortSignal;
}

export interface CampaignReport {
  readonly shape: string;
  readonly seed: number;
  readonly seconds: number;
  /** How often each disturbance came. */
  readonly done: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  readonly figures: Readonly<Record<string, unknown>>;
  /** Promises that were broken. */
  readonly findings: readonly string[];
}

/** Needs Linux and the built command. */
export function runCampaign(options: CampaignOptions): Promise<CampaignReport>;
