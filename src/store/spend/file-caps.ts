import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CodedError } from '../../core/errors/coded-error.js';
import type { SpendCaps } from '../../core/purchase/spend.js';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';

const LOCK_MS = 10_000;
const none: SpendCaps = { dayMicros: null, monthMicros: null };

/**
 * The teams' caps in a small JSON file. Any process of the folder may set caps. The file is checked before each purchase, so a new cap
 * applies from the next purchase on.
 */
export class FileCaps {
  readonly #path: string;
  /** The contents of the file when it was last read, and a mark that changes with the file. */
  #known: { readonly mark: string; readonly caps: Readonly<Record<string, SpendCaps>> } = { mark: '', caps: {} };

  constructor(path: string) {
    this.#path = path;
  }

  /** The caps of a team. Throws if the file is damaged, so that no purchase is made without the team's caps. */
  get(team: string): SpendCaps {
    return this.#read()[team] ?? none;
  }

  /** See `Spend.setCaps`. */
  set(team: string, changes: Partial<SpendCaps>): Promise<SpendCaps> {
    makeFolder(dirname(this.#path));
    const write = async () => {
      const [all, now] = [this.#read(), this.get(team)];
      const { dayMicros = now.dayMicros, monthMicros = now.monthMicros } = changes;
      const caps = { dayMicros, monthMicros };
      await writeDurably(this.#path, `${JSON.stringify({ ...all, [team]: caps }, null, 2)}\n`);
      return caps;
    };
    return withLock(`${this.#path}.lock`, write, { waitMs: LOCK_MS, passing: true });
  }

  #read(): Readonly<Record<string, SpendCaps>> {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    if (!stat) return {};
    const mark = `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (mark !== this.#known.mark) this.#known = { mark, caps: this.#parse(readFileSync(this.#path, 'utf8')) };
    return this.#known.caps;
  }

  #parse(text: string): Readonly<Record<string, SpendCaps>> {
    try {
      const all = JSON.parse(text) as Record<string, Record<keyof SpendCaps, unknown>>;
      return Object.fromEntries(
        Object.entries(all).map(([team, { dayMicros, monthMicros }]) => [
          team,
          { dayMicros: amount(dayMicros), monthMicros: amount(monthMicros) },
        ]),
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new CodedError(
        'state-damaged',
        `The file of the team's caps is damaged: ${this.#path} (${why}). Repair it, or remove it and set the caps again with searchflow limits set`,
        { cause: error },
      );
    }
  }
}

function amount(value: unknown): number | null {
  if (value === null || (Number.isSafeInteger(value) && (value as number) >= 0)) return value as number | null;
  throw new Error(`${JSON.stringify(value)} is not an amount of micro-dollars`);
}
