import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';

/**
 * Which results of workflows a command of this folder has told, by the ids of their runs. A command that is killed leaves its
 * workflow to the next one's worker, and then nobody has heard what came of it.
 */
export class ReportedResults {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = stateDir;
  }

  has(runId: string): boolean {
    try {
      return readFileSync(this.#file, 'utf8').split('\n').includes(runId);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  add(runId: string): void {
    makeFolder(this.#folder);
    appendFileSync(this.#file, `${runId}\n`, { mode: 0o600 });
  }

  get #file(): string {
    return join(this.#folder, 'told-results');
  }
}
