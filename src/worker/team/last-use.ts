import { readFileSync } from 'node:fs';
import { ownIdentity } from '../../files/process-identity.js';
import { writeNamed } from '../../files/write-durably.js';

/** Idle time of a limit, in ms, after which its last second is certainly unused. */
const IDLE_MS = 1500;

/** A file with the process that used a limit last, and when it ended its use. */
export class LastUse {
  readonly #path: string;
  readonly #me = JSON.stringify(ownIdentity());

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The process that may have used the limit in the last second: `me`, or `another`; null: no process of this file. A process that was killed
   * leaves no time of its end, so it counts as using the limit.
   */
  justNow(): 'me' | 'another' | null {
    let last: string;
    try {
      last = readFileSync(this.#path, 'utf8');
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'another';
    }
    const [who, ended] = last.split('\n');
    const idleMs = ended === undefined ? 0 : Date.now() - Number(ended);
    if (idleMs > IDLE_MS) return null;
    return who === this.#me ? 'me' : 'another';
  }

  /** Records that this process uses the limit from now on. */
  begin(): void {
    writeNamed(this.#path, this.#me);
  }

  /** Records that the use of this process has ended. */
  end(): void {
    writeNamed(this.#path, `${this.#me}\n${Date.now()}`);
  }
}
