import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { whyNotOwn } from '../../files/make-folder.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { type Environment, Variables } from './variables.js';

type Here = { readonly env: Environment; readonly cwd: string };

/** Why a state folder cannot be used, a sentence for each reason. */
export function whyNoStateFolder({ env, cwd }: Here, stateDir: string): readonly string[] {
  const variables = new Variables(env);
  const noPath = whyNoPath(env.SEARCHFLOW_STATE_DIR ?? '', process.platform) ?? whyNoPath(stateDir, process.platform);
  if (noPath !== null) return [`The state folder (not shown) ${noPath}. See SEARCHFLOW_STATE_DIR.`];
  const shown = variables.shown(stateDir);
  const file = fileInWay(stateDir);
  if (file !== null) {
    const why =
      file === stateDir
        ? 'is a file, not a folder'
        : `cannot be made: ${variables.shown(file)} is a file, not a folder`;
    const found = variables.find('SEARCHFLOW_STATE_DIR');
    if (found !== null) return [variables.mistake(found, `${why}. Name another folder, or remove that file.`)];
    return [`The state folder ${shown} ${why}. Remove that file, or set SEARCHFLOW_STATE_DIR to another folder.`];
  }
  const foreign = whyForeign({ env, cwd }, stateDir);
  if (foreign !== null)
    return [
      `The state folder ${shown} ${foreign}. Other users could choose what this command runs and ends. Change its owner or ` +
        'permissions, use another folder (SEARCHFLOW_STATE_DIR), or set SEARCHFLOW_TRUST_STATE_DIR to its path.',
    ];
  return [whyOtherFormat(stateDir, shown)].filter((one) => one !== null);
}

/** The file that has the name of a folder or of a parent folder; null if the folder exists or can be made. */
function fileInWay(dir: string): string | null {
  try {
    return statSync(dir).isDirectory() ? null : dir;
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    return isMissing && dirname(dir) !== dir ? fileInWay(dirname(dir)) : null;
  }
}

/** Why other users could change a state folder, in words that follow its name; null if they cannot, and if the settings trust the folder. */
export function whyForeign({ env, cwd }: Here, stateDir: string): string | null {
  const trusted = env.SEARCHFLOW_TRUST_STATE_DIR;
  return trusted && resolve(cwd, trusted) === stateDir ? null : whyNotOwn(stateDir);
}
