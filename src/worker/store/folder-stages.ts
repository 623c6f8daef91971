import { existsSync } from 'node:fs';
import type { Stages } from '../../core/rows/stages.js';
import { sliceFile } from '../../rows/index.js';

/** Slices in the state folder, for the worker of that folder. */
export const folderStages: Stages = {
  share: async () => undefined,
  async slice({ stageDir }, slice) {
    const path = sliceFile(stageDir, slice);
    if (existsSync(path)) return path;
    throw new Error(
      `The staged rows ${path} are missing. Run the job's command again to stage them; nothing is bought twice`,
    );
  },
  forget: async () => 0,
};
