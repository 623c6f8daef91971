export interface KillEventsOptions {
  readonly events?: number;
  /** How often something is killed: the command, all processes, the Temporal server, PostgreSQL, in turn. */
  readonly kills?: number;
  readonly into?: 'duckdb' | 'postgres';
  readonly order?: 'newest' | 'oldest';
  readonly qps?: number;
  readonly seed?: number;
  say?(sentence: string): void;
}

export interface KillEventsReport {
  readonly kills: Readonly<Record<'all' | 'command' | 'server' | 'postgres', number>>;
  readonly deaths: number;
  /** Events that happened, and rows of them in the warehouse. */
  readonly events: number;
  readonly rows: number;
  readonly missing: number;
  readonly doubled: number;
  /** Of the sync, and the time of the newest event, Unix ms. */
  readonly watermark: number | null;
  readonly newest: number;
  /** Windows that are not done. */
  readonly pending: number;
  /** Tables that differ from those of an undisturbed run. */
  readonly different: readonly string[];
  readonly rowsOfTables: Readonly<Record<string, string>>;
  readonly requests: number;
  readonly refused: number;
}

/** Needs Linux and the built command. */
export function killEvents(options: KillEventsOptions): Promise<KillEventsReport>;
