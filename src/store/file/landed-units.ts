import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { FORGOTTEN } from '../../core/purchase/forgotten.js';
import { BodiesGone, ENDED_WITH_JOB, type Landed } from '../../core/purchase/journal.js';
import type { Freshness } from '../../core/row-job-schemas.js';
import type { UnitEntry } from './segment-lines.js';
import { type IndexEntry, UnitIndex } from './unit-index.js';

/** The landed units, the positions of their bodies, and which bodies are missing. */
export class LandedUnits {
  readonly #index = new UnitIndex();
  readonly #damaged = new Set<string>();
  /** Numbers of segments whose bodies were removed. */
  readonly #pruned = new Set<number>();
  /** Forgotten units. No later answer replaces them. */
  readonly forgotten = new Set<string>();

  get(key: string): IndexEntry | undefined {
    return this.#index.get(key);
  }

  /** Returns a landed unit if it satisfies the freshness rules. */
  find(key: string, freshness: Freshness | undefined): Landed | undefined {
    const entry = this.#index.get(key);
    if (!entry) return undefined;
    const isFresh = entry.tag !== ENDED_WITH_JOB && (!freshness || this.#isFresh(key, entry, freshness));
    if (!isFresh && !this.forgotten.has(key)) return undefined;
    return { key, fetchedAt: entry.at, status: entry.status, errorTag: entry.tag };
  }

  add([key, offset, length, crc, status, tag]: UnitEntry, segment: number, at: number): void {
    if (tag === FORGOTTEN) this.forgotten.add(key);
    else if (this.forgotten.has(key)) return;
    // A forgotten unit replaces an answer with a later time, which a clock that ran ahead may have written.
    this.#index.set(key, { at, segment, offset, length, crc, status, tag }, tag === FORGOTTEN);
    // A body of zero bytes was lost with a damaged line.
    if (length === 0) this.#damaged.add(key);
    else this.#damaged.delete(key);
  }

  /** Whether the body of a landed unit was removed, or is known to be damaged. */
  isGone(key: string): boolean {
    const entry = this.#index.get(key);
    return entry === undefined || this.#pruned.has(entry.segment) || this.#damaged.has(key);
  }

  /** Records that the bodies of a segment were removed. */
  prune(segment: number): void {
    this.#pruned.add(segment);
  }

  /**
   * Calls `each` with the verified bodies of these units, in their order on disk. `pathOf` returns the unit file of the segment with this
   * number. Rejects with `BodiesGone` at the end if any body is missing or damaged.
   */
  async eachBody(
    units: readonly (readonly [key: string, entry: IndexEntry])[],
    pathOf: (segment: number) => string,
    each: (key: string, body: Buffer) => Promise<void>,
  ): Promise<void> {
    const gone: string[] = [];
    const inOrder = [...units].sort(([, a], [, b]) => a.segment - b.segment || a.offset - b.offset);
    let file: FileHandle | null = null;
    let opened = -1;
    try {
      for (const [key, entry] of inOrder) {
        if (entry.segment !== opened) {
          await file?.close();
          file = await openIfThere(pathOf(entry.segment));
          opened = entry.segment;
        }
        const body = Buffer.alloc(entry.length);
        const read = file ? (await file.read(body, 0, entry.length, entry.offset)).bytesRead : 0;
        if (read === entry.length && crc32(body) === entry.crc) await each(key, body);
        else gone.push(key);
      }
    } finally {
      await file?.close();
    }
    for (const key of gone) this.#damaged.add(key);
    if (gone.length > 0) throw new BodiesGone(gone);
  }

  #isFresh(key: string, entry: IndexEntry, freshness: Freshness): boolean {
    const { freshAfter, retryTags, retryBefore, rebuyBefore } = freshness;
    if (freshAfter !== undefined && entry.at < freshAfter) return false;
    if (entry.status === 'error' && retryTags?.includes(entry.tag ?? '') && entry.at < (retryBefore ?? 0)) return false;
    return !(rebuyBefore !== undefined && entry.at < rebuyBefore && this.isGone(key));
  }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
