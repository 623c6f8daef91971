import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';

/** Longest wait for another process that writes the file. */
const LOCK_MS = 10_000;

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
    return this.#read().split('\n').includes(runId);
  }

  async add(runId: string): Promise<void> {
    makeFolder(this.#folder);
    const write = () => writeDurably(this.#file, `${this.#read()}${runId}\n`);
    await withLock(`${this.#file}.lock`, write, { waitMs: LOCK_MS, passing: true });
  }

  #read(): string {
    try {
      return readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    }
  }

  get #file(): string {
    return join(this.#folder, 'reported-results');
  }
}
