import { existsSync } from 'node:fs';
import { CodedError } from '../../core/errors/coded-error.js';
import type { Stages } from '../../core/rows/stages.js';
import { sliceFile } from '../../rows/index.js';

/** Slices in the state folder, for the worker of that folder. */
export const folderStages: Stages = {
  share: async () => undefined,
  async slice({ stageDir }, slice) {
    const path = sliceFile(stageDir, slice);
    if (existsSync(path)) return path;
    throw new CodedError(
      'staged-rows-missing',
      `The staged rows ${path} are missing. Run the job's command again to stage them; nothing is bought twice`,
    );
  },
  forget: async () => 0,
  rewrite: async () => undefined,
};
