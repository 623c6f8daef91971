/** The id in Temporal of the activity of a piece of work, and the piece of an id; null for another activity. */
export const pieceId = (piece: number): string => `piece-${piece}`;
export const pieceOf = (id: string): number | null => {
  const [, piece = null] = /^piece-(\d+)$/.exec(id) ?? [];
  return piece === null ? null : Number(piece);
};

/** Ids of jobs and stages become parts of the names of files, folders and segments, so these ids must not contain a path. */
export const ID_PATTERN = /^[\w-][\w.-]{0,199}$/;
export const isJobId = (id: unknown): id is string => typeof id === 'string' && ID_PATTERN.test(id);

/** Workflow id of a job, so that a job runs once at a time. */
export const workflowIdOf = (job: string): string => `searchflow-${job}`;

/** Returns the job of a workflow id that a command made. Other ids are returned unchanged. */
export const jobOfWorkflow = (workflowId: string): string => workflowId.replace(/^searchflow-/, '');
