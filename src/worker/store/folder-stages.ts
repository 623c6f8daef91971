import { existsSync } from 'node:fs';
import type { Stages } from '../../core/rows/stages.js';
import { sliceFile } from '../../rows/index.js';

/** Slices where staging wrote them: for workers of one folder. */
export const folderStages: Stages = {
  share: async () => undefined,
  async slice({ stageDir }, slice) {
    const path = sliceFile(stageDir, slice);
    if (existsSync(path)) return path;
    throw new Error(`The staged rows ${path} are gone; the job's command stages them again (nothing is bought twice)`);
  },
};
