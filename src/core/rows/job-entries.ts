import type { Freshness } from '../purchase/journal.js';
import type { JobPhase, MaxCost, PauseReason, StagedJob } from './job.js';

/** Where a job stood when it last said so, for whoever looks while no worker answers. */
export interface JobState {
  readonly phase: Exclude<JobPhase, 'planning'>;
  readonly reason?: PauseReason;
  /** Why, in a sentence with the way out. */
  readonly message?: string;
  /** Unix ms. */
  readonly since: number;
}

/** What is remembered of a job between commands. Nothing in it is a truth of its own: it only leads to them. */
export interface JobEntry {
  readonly staged: StagedJob;
  /** The job's name was given by `--job`: then the name, not the path, is its identity. */
  readonly named: boolean;
  readonly csv: string | null;
  /** Generation whose rows were all loaded when its workflow ended; null before that. */
  readonly completed: string | null;
  /** What was staged for it before, newest first: a run that has not ended yet may load it. */
  readonly earlier?: readonly Stage[];
  /** Of its workflow, where somebody else's client started it under an id of their own. */
  readonly workflowId?: string;
  /** Absent where it was written before states were. */
  readonly state?: JobState;
  /** What its command asked for beside the rows, so that `resume` can start it again. */
  readonly asked?: {
    readonly maxCostDollars?: MaxCost;
    readonly maxRunSeconds?: number;
    readonly freshness?: Freshness;
  };
}

/** What was staged for a job, and where its CSV goes. */
export interface Stage {
  readonly staged: StagedJob;
  readonly csv: string | null;
}

/** Stages of a job that are remembered beside the newest. */
const KEEP_STAGES = 3;

/** The entry of a job that is staged again, with what the entry before it had. */
export function entryAfter(before: JobEntry | null, now: JobEntry): JobEntry {
  if (before === null) return now;
  const others = [{ staged: before.staged, csv: before.csv }, ...(before.earlier ?? [])].filter(
    ({ staged }) => staged.generation !== now.staged.generation,
  );
  return others.length === 0 ? now : { ...now, earlier: others.slice(0, KEEP_STAGES) };
}

/** What was staged under such a name; null where the entry knows nothing of it. */
export function stageOf(entry: JobEntry, generation: string): Stage | null {
  const all = [{ staged: entry.staged, csv: entry.csv }, ...(entry.earlier ?? [])];
  return all.find(({ staged }) => staged.generation === generation) ?? null;
}

/** The process of a command that began work, or watches it. */
export interface Owner {
  /** Made up by the process, never used again. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
}

/** Work of commands that has not ended: a job, an agent run, an export. Work without such an entry belongs to the workers. */
export interface OwnedWork {
  readonly workflowId: string;
  /** What a person calls it. */
  readonly job: string;
  /** In the order they came: the first that lives owns the work, the others watch it. */
  readonly owners: readonly Owner[];
}

/** Work that a command may own: a job, a walk, an agent run, a batch or an export. */
export type Work = Pick<OwnedWork, 'job' | 'workflowId'>;

/** What is known when it is decided who owns a workflow's work. */
export interface Claim {
  readonly owned: OwnedWork | null;
  readonly jobs: readonly JobEntry[];
  lives(owner: Owner): boolean;
}

/** What is written then; null removes it. `entry` is that of a job, written in the same step; absent: it stays as it is. */
export interface Claimed {
  readonly owned: OwnedWork | null;
  readonly entry?: { readonly job: string; readonly now: JobEntry | null };
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

/** A file or a database server that a person typed, and workflows may name since. */
export interface Allowed {
  /** The field of an input that may name it. */
  readonly field: string;
  /** An absolute path without links, or `host:port`. */
  readonly what: string;
  /** The machine that a file is on; null for a server. */
  readonly host: string | null;
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
  /**
   * Decides who owns a workflow's work, and maybe what its job's entry says, in one step: nobody else changes either in between.
   * Nothing is written where `decide` throws. `decide` may be called more than once.
   */
  claim<C extends Claimed>(workflowId: string, decide: (claim: Claim) => C): Promise<C>;
  /** Lets workflows name what a person typed. */
  allow(named: readonly Allowed[]): Promise<void>;
  allowed(): Promise<readonly Allowed[]>;
  /** All work that commands own, with those of its owners that live. */
  owned(): Promise<readonly (OwnedWork & { readonly living: readonly Owner[] })[]>;
  /** The process as an owner, alive until it ends or this is closed. */
  owner(): Owner;
}
