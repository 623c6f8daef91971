import type { StagedJob } from './job.js';

/** What is remembered of a job between commands. Nothing in it is a truth of its own: it only leads to them. */
export interface JobEntry {
  readonly staged: StagedJob;
  /** The job's name was given by `--job`: then the name, not the path, is its identity. */
  readonly named: boolean;
  readonly csv: string | null;
  /** Generation whose rows were all loaded when its workflow ended; null before that. */
  readonly completed: string | null;
  /** Of its workflow, where somebody else's client started it under an id of their own. */
  readonly workflowId?: string;
}

/** A walk on events that ran here: leads to its workflow and to its warehouse, where the truth about it is. */
export interface WalkEntry {
  /** Its workflow's id, without the prefix that ids have which the command makes. */
  readonly job: string;
  readonly workflowId: string;
  readonly origin: string;
  readonly stream: string;
  readonly into: string;
  readonly host?: string;
}

/**
 * The jobs that a folder, or a store that many workers share, knows. Keyed by the job's id alone, whoever's key it runs with:
 * a job outlives a key that is changed.
 */
export interface JobEntries {
  get(job: string): Promise<JobEntry | null>;
  /** Adds or replaces the entry of `staged.job`; durable when it returns. */
  put(entry: JobEntry): Promise<void>;
  /** Longest untouched first. */
  all(): Promise<readonly JobEntry[]>;
  /** Adds or replaces a walk. */
  putWalk(entry: WalkEntry): Promise<void>;
  /** Longest untouched first. */
  walks(): Promise<readonly WalkEntry[]>;
}
