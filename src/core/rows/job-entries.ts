import type { Allowed, JobEntry, OwnedWork, Owner, Stage, WalkEntry } from '../job-entry-schemas.js';

/** Whether a job runs or waits for a person, by its last recorded state. */
export const isUnfinished = ({ state: { phase } }: Pick<JobEntry, 'state'>): boolean =>
  phase === 'running' || phase === 'paused';

const KEEP_STAGES = 3;

/** Returns the entry of a job that is staged again. The stages of the former entry become earlier stages; its last run stays. */
export function entryAfter(before: JobEntry | null, now: JobEntry): JobEntry {
  const others = stagesOf(before).filter(({ staged }) => staged.generation !== now.staged.generation);
  const earlier = others.length === 0 ? undefined : others.slice(0, KEEP_STAGES);
  return { ...now, opened: before?.opened, earlier };
}

/** Returns the current stage of an entry and its earlier stages, newest first; null has none. */
export function stagesOf(entry: JobEntry | null): readonly Stage[] {
  return entry === null ? [] : [{ staged: entry.staged, csv: entry.csv }, ...(entry.earlier ?? [])];
}

/** Returns the stage of a generation; null where the entry has no such stage. */
export function stageOf(entry: JobEntry, generation: string): Stage | null {
  return stagesOf(entry).find(({ staged }) => staged.generation === generation) ?? null;
}

/** Work that a command may own: a job, a walk, an agent run, a batch or an export. */
export type Work = Pick<OwnedWork, 'job' | 'workflowId'>;

/** The facts by which the owner of a workflow's work is decided. */
export interface OwnerFacts {
  readonly owned: OwnedWork | null;
  readonly jobs: readonly JobEntry[];
  lives(owner: Owner): boolean;
}

/** The changes that a decision makes in one step. A null value removes a record; without `entry`, no entry is changed. */
export interface OwnerChange {
  readonly owned: OwnedWork | null;
  readonly entry?: { readonly job: string; readonly now: JobEntry | null };
}

/**
 * The jobs of a folder, or of a store that many workers share. Entries are keyed by the job's id alone, because a job outlives its API key.
 */
export interface JobEntries {
  get(job: string): Promise<JobEntry | null>;
  /** Adds or replaces the entry of `staged.job`; the entry is durable when the method returns. */
  put(entry: JobEntry): Promise<void>;
  /** All entries, the least recently changed first. */
  all(): Promise<readonly JobEntry[]>;
  /** The entries of jobs that run or are paused, in any order. */
  unfinished(): Promise<readonly JobEntry[]>;
  /** Adds or replaces a walk. */
  putWalk(entry: WalkEntry): Promise<void>;
  /** All walks, the least recently changed first. */
  walks(): Promise<readonly WalkEntry[]>;
  /**
   * Decides the owner of a workflow's work atomically; the decision may also write the entry of the job. If `decide` throws, nothing is
   * written. `decide` may be called more than once.
   */
  claim<C extends OwnerChange>(workflowId: string, decide: (claim: OwnerFacts) => C): Promise<C>;
  /** Adds to the allowlist the files and servers that a person has entered. */
  allow(named: readonly Allowed[]): Promise<void>;
  allowed(): Promise<readonly Allowed[]>;
  /** All work that commands own, with its live owners. */
  owned(): Promise<readonly (OwnedWork & { readonly living: readonly Owner[] })[]>;
  /** Returns an owner for this process. The owner lives until the process ends or the store is closed. */
  owner(): Owner;
}
