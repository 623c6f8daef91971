export interface PostgresServer {
  readonly port: number;
  /** Folder of the server's files. */
  readonly dataDir: string;
  /** The password in the server's addresses, for tests that search for it. */
  readonly password: string;
  urlOf(database: string): string;
  /** Creates a database; returns its address. */
  database(name?: string): Promise<string>;
  pid(): number;
  /** Ends the server at once, as a power cut would. */
  kill(): Promise<void>;
  /** Starts the server again after `kill`, on the same data and port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server. `flags`: further `name=value` settings of the server. */
export function startPostgres(options?: {
  readonly flags?: readonly string[];
  readonly password?: string;
}): Promise<PostgresServer>;
