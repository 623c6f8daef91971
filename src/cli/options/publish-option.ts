import type { PublishMode, PublishPartition, PublishStep } from '../../core/publish-request.js';
import { absoluteTarget, whyNoPublish } from '../../worker/config/publish-step.js';

/** The flags of a publish as the last step of a run. */
export interface PublishStepFlags {
  readonly publish?: string;
  readonly publishMode?: PublishMode;
  readonly publishKey?: readonly string[];
  readonly publishPartition?: PublishPartition;
}

/** Returns the publish at the end of a run, or undefined without `--publish`; adds a sentence to `mistakes` for invalid flags. */
export function readPublishStep(
  { publish, publishMode: mode, publishKey: key, publishPartition: partition }: PublishStepFlags,
  cwd: string,
  mistakes: string[],
): PublishStep | undefined {
  if (publish === undefined) {
    if (mode !== undefined || key !== undefined || partition !== undefined)
      mistakes.push('--publish-mode, --publish-key and --publish-partition need --publish TARGET.');
    return undefined;
  }
  const step = {
    to: absoluteTarget(publish, cwd),
    ...(mode === undefined ? {} : { mode }),
    ...(key === undefined ? {} : { key }),
    ...(partition === undefined ? {} : { partition }),
  };
  const why = whyNoPublish(step);
  if (why === null) return step;
  mistakes.push(`--publish: ${why}.`);
  return undefined;
}
