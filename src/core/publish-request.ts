import type { PublishMode, PublishPartition } from './choices.js';
import type { PublishStep } from './row-job-schemas.js';
import type { Published } from './team-output-schemas.js';

export type { Published, PublishRecord } from './team-output-schemas.js';

/** What is published: the view of a job, the current state of events, or the monitors with their runs and results. */
export type PublishSubject = { readonly job: string } | 'events' | 'monitors';

export interface PublishRequest {
  readonly subject: PublishSubject;
  /** The target as typed; a relative path is resolved against the working folder. */
  readonly to: string;
  readonly mode: PublishMode;
  /** Columns that identify a row; only for `merge`. */
  readonly key: readonly string[];
  readonly partition: PublishPartition | null;
}

/** Copies tables of a warehouse into a target, in one step. */
export interface Publisher {
  /** Rejects with `WarehouseUnusable` if the target must not be used, before anything is written. */
  publish(request: PublishRequest): Promise<Published>;
  /** Rejects if the target cannot be reached, or must not be used. Reads the target only. */
  check(to: string): Promise<void>;
}

export const stepMode = ({ mode, key = [] }: Pick<PublishStep, 'mode' | 'key'>): PublishMode =>
  mode ?? (key.length > 0 ? 'merge' : 'replace');

/** Why a mode and a key do not fit together, in words; null if they do. */
export function whyNoStep(step: Pick<PublishStep, 'mode' | 'key'>): string | null {
  const hasKey = (step.key ?? []).length > 0;
  if (stepMode(step) === 'merge') return hasKey ? null : 'merge needs a key, the columns that identify a row';
  return hasKey ? `a key is for merge, not for ${stepMode(step)}` : null;
}
