import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { writeDurably } from '../../files/write-durably.js';

/** Number of the format of everything in a state folder: journal, caps, jobs, walks, owners, stages and the Temporal server's database. */
const FORMAT = '1';

const ANOTHER = 'another folder (SEARCHFLOW_STATE_DIR, option stateDir of SearchflowPlugin)';

/** The file with the number of the format. It is written before the first job, the first purchase and the first Temporal server. */
const fileIn = (stateDir: string): string => join(stateDir, 'format');

/**
 * Returns why this version cannot use a state folder, with the way out; null if it can. Writes nothing. `shown`: the folder's name for
 * people.
 */
export function whyOtherFormat(stateDir: string, shown: string): string | null {
  const format = existsSync(fileIn(stateDir)) ? formatIn(fileIn(stateDir)) : null;
  if (format === null || format === FORMAT) return null;
  // No version writes another text than a number.
  if (!/^\d{1,9}$/.test(format))
    return (
      `The file format of the state folder ${shown} is damaged: it has no number of a format. Restore it from a backup. If no newer ` +
      `version of searchflow has used the folder, write ${FORMAT} into it.`
    );
  return `The state folder ${shown} was written by a newer version of searchflow. Update searchflow, or use ${ANOTHER}.`;
}

/** The text of the file with the format; empty if it is no file. */
function formatIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') return '';
    throw error;
  }
}

/** Records the format of a state folder, if that is not done. */
export async function recordFormat(stateDir: string): Promise<void> {
  if (existsSync(fileIn(stateDir))) return;
  makeFolder(stateDir);
  await writeDurably(fileIn(stateDir), `${FORMAT}\n`);
}
