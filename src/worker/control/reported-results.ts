import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { writeNamed } from '../../files/write-durably.js';

/**
 * The run ids of workflows whose result a command of this folder has reported. The workflow of a killed command may complete on the next
 * worker. The result of such a workflow still has to be reported.
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
    writeNamed(this.#file, `${runId}\n`, { flag: 'a' });
  }

  get #file(): string {
    // The file keeps its old name, so that existing state folders can still be read.
    return join(this.#folder, 'told-results');
  }
}
