import type { FailureLimit, Freshness, MaxCost, PublishStep, WarehouseSummary } from '../row-job-schemas.js';
import type { RunFigures, StagedJob } from './job.js';
import type { JobPhase, PauseReason } from './job-names.js';

/** The last recorded state of a job. Commands show this state while no worker answers. */
export interface JobState {
  readonly phase: Exclude<JobPhase, 'planning'>;
  readonly reason?: PauseReason;
  /** The reason and what to do, in a sentence. */
  readonly message?: string;
  /** Unix ms. */
  readonly since: number;
  /** Set if a person cancelled the job and it had not ended yet. The next state replaces it. */
  readonly cancelRequested?: true;
  /**
   * The rows of the job in its warehouse, counted while no slice was running, so that a status need not open the warehouse. Absent if the
   * rows were not counted, and always absent in the state `running`.
   */
  readonly counts?: WarehouseSummary;
  /** Figures of the run that ended with this state. Absent if they are not known: the run was killed, or an earlier version recorded it. */
  readonly run?: RunFigures;
}

/** The record of a job between commands. The record is only an index: journal, warehouse and workflow hold the truth about the job. */
export interface JobEntry {
  readonly staged: StagedJob;
  /** Whether the job's name comes from `--job`. A job with such a name is identified by the name, other jobs by the path of their input. */
  readonly named: boolean;
  readonly csv: string | null;
  /** The generation whose rows were all loaded when the job's workflow ended; null before the first such end. */
  readonly completed: string | null;
  /** Earlier stages of the job, newest first. A run in progress may still load an earlier stage. */
  readonly earlier?: readonly Stage[];
  /** Id of the job's workflow, if another client chose the id. */
  readonly workflowId?: string;
  /** The schedule that started the last run; absent for other runs. */
  readonly schedule?: string;
  /** The last run that was opened, and the amount of the job that counted under caps before this run, in micro-dollars. */
  readonly opened?: { readonly run: string; readonly beforeMicros: number };
  readonly state: JobState;
  /** The other options of the last run, so that `resume` can start the job again. */
  readonly asked: {
    readonly maxCostDollars?: MaxCost;
    readonly maxRunSeconds?: number;
    readonly redrive?: boolean;
    readonly skipRefused?: boolean;
    readonly stopAtFailed?: FailureLimit;
    readonly acceptWarnings?: readonly string[];
    readonly publish?: PublishStep;
    readonly freshness?: Freshness;
  };
}

/** Whether a job runs or waits for a person, by its last recorded state. */
export const isUnfinished = ({ state: { phase } }: Pick<JobEntry, 'state'>): boolean =>
  phase === 'running' || phase === 'paused';

/** A staged job, and the path of its CSV. */
export interface Stage {
  readonly staged: StagedJob;
  readonly csv: string | null;
}

/** The number of earlier stages of a job that are kept. */
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

/** The process of a command that started work, or follows it. */
export interface Owner {
  /** A random id, never used again. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
}

/**
 * Work that commands started and that has not ended: a job, a walk, an agent run, a batch or an export. Work without such an entry belongs
 * to the workers.
 */
export interface OwnedWork {
  readonly workflowId: string;
  /** The name for people. */
  readonly job: string;
  /** Processes in the order of arrival. The first living process owns the work; the other processes watch the work. */
  readonly owners: readonly Owner[];
}

/** Work that a command may own: a job, a walk, an agent run, a batch or an export. */
export type Work = Pick<OwnedWork, 'job' | 'workflowId'>;

/** The facts by which the owner of a workflow's work is decided. */
export interface Claim {
  readonly owned: OwnedWork | null;
  readonly jobs: readonly JobEntry[];
  lives(owner: Owner): boolean;
}

/**
 * The changes that a decision makes. A null value removes a record. `entry`: the entry of a job to write in the same step; absent: no
 * entry is changed.
 */
export interface Claimed {
  readonly owned: OwnedWork | null;
  readonly entry?: { readonly job: string; readonly now: JobEntry | null };
}

/** A walk that ran in this folder or store. Its workflow and its warehouse hold the truth about the walk. */
export interface WalkEntry {
  /** The id of the walk's workflow, without the prefix of ids that commands make. */
  readonly job: string;
  readonly workflowId: string;
  readonly origin: string;
  readonly stream: string;
  readonly into: string;
  readonly host?: string;
}

/** An entry of the allowlist: a file or database server that a person has entered. */
export interface Allowed {
  /** The field of an input that may name the file or server. */
  readonly field: string;
  /** An absolute path without links, or `host:port`. */
  readonly what: string;
  /** The machine that a file is on; null for a server. */
  readonly host: string | null;
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
  claim<C extends Claimed>(workflowId: string, decide: (claim: Claim) => C): Promise<C>;
  /** Adds to the allowlist the files and servers that a person has entered. */
  allow(named: readonly Allowed[]): Promise<void>;
  allowed(): Promise<readonly Allowed[]>;
  /** All work that commands own, with its live owners. */
  owned(): Promise<readonly (OwnedWork & { readonly living: readonly Owner[] })[]>;
  /** Returns an owner for this process. The owner lives until the process ends or the store is closed. */
  owner(): Owner;
}
