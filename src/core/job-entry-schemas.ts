import { z } from 'zod';
import { count, flag, json, list, number, open, sent, text, type ValueOf } from './base-schemas.js';
import { fileFormats } from './choices.js';
import {
  type FailureLimit,
  freshness,
  jobPhase,
  jobSummary,
  nextAction,
  pauseReason,
  publishStep,
  runBounds,
  warehouseSummary,
} from './row-job-schemas.js';
import { ID_PATTERN } from './rows/job-ids.js';
import { isFailureLimit } from './rows/stop-at-failed.js';

/** An object that keeps further fields, which other versions write. */
const kept = <Shape extends z.ZodRawShape>(shape: Shape) => z.looseObject(shape) as z.ZodType as z.ZodObject<Shape>;

/** Unix ms of a time that a `Date` can have. */
const time = z.int().min(0).max(8.64e15);

const staged = kept({
  job: text.regex(ID_PATTERN),
  ...{ name: text, origin: text, operation: text, input: text, into: text },
  ...{ format: z.enum(fileFormats).optional(), sql: text.optional(), table: text.optional() },
  columns: list(text),
  /** Types of the columns. Absent: the input is a CSV, whose cells are texts. */
  types: list(text).optional(),
  /** The column of URLs; null where requests come from a template. */
  unitColumn: text.nullable(),
  /** Scheme that was added to URLs without a scheme. Absent: no scheme was added. */
  defaultScheme: z.enum(['http', 'https']).optional(),
  /** Columns that identify a row. Absent: rows are matched by their cells. */
  key: list(text).optional(),
  options: open,
  /** The part of the request that is rendered for each row. Absent if a row is a URL. */
  template: json.optional(),
  ...{ beta: list(text).optional(), unchecked: flag.optional(), extraHeaders: sent.extraHeaders },
  /**
   * Number of rows that share one agent run; absent: one. Each row is an object of `input.data` with a `row_id`. The output must be a list
   * `rows` of objects with these ids; each object is stored with the row that has the same id.
   */
  rowsPerRun: count.optional(),
  /** The form of the enriched CSV. Absent: commas, no byte order mark. */
  csvForm: z.object({ delimiter: text, bom: flag }).optional(),
  /** Number of units in one request. */
  batch: count,
  /** Number of first rows to buy; absent: all. The stage has the whole input in any case. */
  limit: count.optional(),
  generation: text,
  ...{ rows: count, badRows: count, distinctUnits: count, slices: count },
  /** Number of rows in each slice except the last. */
  rowsPerSlice: count,
  /** Number of slices in progress at once. The number is large enough to use the whole rate limit. */
  window: count,
  /** Directory of the slices, on the machine that staged the rows; see the port `Stages`. */
  stageDir: text,
  /** The machine that has the warehouse file, for workers on several machines. */
  host: text.optional(),
});
/** The result of staging: the job's rows are in slices, and the source of the rows is no longer needed. */
export type StagedJob = ValueOf<typeof staged>;

const state = kept({
  phase: jobPhase.exclude(['planning']),
  reason: pauseReason.optional(),
  /** The reason, in a sentence. */
  message: text.optional(),
  next: nextAction,
  since: time,
  /** Set if a person cancelled the job and it had not ended yet. The next state replaces it. */
  cancelRequested: z.literal(true).optional(),
  /**
   * The rows of the job in its warehouse, counted while no slice was running, so that a status need not open the warehouse. Absent if the
   * rows were not counted, and always absent in the state `running`. Counts that cannot be read are dropped, and the rows are counted again.
   */
  counts: warehouseSummary.optional().catch(undefined),
  /** Figures of the run that ended with this state. Absent if they are not known: the run was killed, or an earlier version recorded it. */
  run: jobSummary
    .pick({ requests: true, costMicros: true, estimateMicros: true, seconds: true })
    .optional()
    .catch(undefined),
});
/** The last recorded state of a job. Commands show this state while no worker answers. */
export type JobState = ValueOf<typeof state>;

const stage = z.object({ staged, csv: text.nullable() });
/** A staged job, and the path of its CSV. */
export type Stage = ValueOf<typeof stage>;

export const jobEntry = z.object({
  ...stage.shape,
  /** Whether the job's name comes from `--job`. A job with such a name is identified by the name, other jobs by the path of their input. */
  named: flag,
  /** The generation whose rows were all loaded when the job's workflow ended; null before the first such end. */
  completed: text.nullable(),
  /** Earlier stages of the job, newest first. A run in progress may still load an earlier stage. */
  earlier: list(stage).optional(),
  /** Id of the job's workflow, if another client chose the id. */
  workflowId: text.optional(),
  /** The schedule that started the last run; absent for other runs. */
  schedule: text.optional(),
  /** The last run that was opened, and the amount of the job that counted under caps before this run, in micro-dollars. */
  opened: z.object({ run: text, beforeMicros: number }).optional(),
  /** The other options of the last run, so that `resume` can start the job again. */
  asked: kept({
    ...runBounds.shape,
    stopAtFailed: z.custom<FailureLimit>(isFailureLimit).optional(),
    publish: kept(publishStep.shape).optional(),
    freshness: kept(freshness.shape).optional(),
  }),
  state,
});
/** The record of a job between commands. The record is only an index: journal, warehouse and workflow hold the truth about the job. */
export type JobEntry = ValueOf<typeof jobEntry>;

export const walkEntry = kept({
  /** The id of the walk's workflow, without the prefix of ids that commands make. */
  job: text,
  ...{ workflowId: text, origin: text, stream: text, into: text },
  host: text.optional(),
});
/** A walk that ran in this folder or store. Its workflow and its warehouse hold the truth about the walk. */
export type WalkEntry = ValueOf<typeof walkEntry>;

const owner = z.object({
  /** A random id, never used again. */
  id: text,
  host: text,
  pid: number,
});
/** The process of a command that started work, or follows it. */
export type Owner = ValueOf<typeof owner>;

export const ownedWork = z.object({
  workflowId: text,
  /** The name for people. */
  job: text,
  /** Processes in the order of arrival. The first living process owns the work; the other processes watch the work. */
  owners: list(owner),
  /** Set while the owner only ends the work, because the command that owned it has died. */
  isEnding: z.literal(true).optional(),
});
/**
 * Work that commands started and that has not ended: a job, a walk, an agent run, a batch or an export. Work without such an entry belongs
 * to the workers.
 */
export type OwnedWork = ValueOf<typeof ownedWork>;

export const allowed = z.object({
  /** The field of an input that may name the file or server. */
  field: text,
  /** An absolute path without links, or `host:port`. */
  what: text,
  /** The machine that a file is on; null for a server. */
  host: text.nullable(),
});
/** An entry of the allowlist: a file or database server that a person has entered. */
export type Allowed = ValueOf<typeof allowed>;
