import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { DigestMap } from '../../core/purchase/digest-map.js';
import { FORGOTTEN } from '../../core/purchase/forgotten.js';
import { BodiesGone, ENDED_WITH_JOB, type Landed, type UnitStatus } from '../../core/purchase/journal.js';
import type { Freshness } from '../../core/row-job-schemas.js';
import type { UnitEntry } from './unit-record.js';

const CHUNK = 65_536;

interface Chunk {
  readonly at: Float64Array;
  readonly segment: Uint32Array;
  readonly offset: Float64Array;
  readonly length: Uint32Array;
  readonly crc: Uint32Array;
  readonly tag: Uint16Array;
}

/** Position of a landed unit's body, and its outcome. */
export interface IndexEntry {
  readonly at: number;
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
  readonly status: UnitStatus;
  readonly tag: string | null;
}

/** Index of landed units with about 50 bytes each, in chunks of typed arrays, so that a growing index copies nothing. */
class UnitIndex {
  readonly #numbers = new DigestMap();
  readonly #chunks: Chunk[] = [];
  /** Distinct pairs of status and tag; an entry stores their index. 0: success. */
  readonly #tags: { status: UnitStatus; tag: string | null }[] = [{ status: 'success', tag: null }];
  #size = 0;

  get(key: string): IndexEntry | undefined {
    const number = this.#numbers.get(key);
    if (number === undefined) return undefined;
    const chunk = this.#chunks[Math.floor(number / CHUNK)] as Chunk;
    const at = number % CHUNK;
    const tag = this.#tags[chunk.tag[at] as number] as { status: UnitStatus; tag: string | null };
    return {
      at: chunk.at[at] as number,
      segment: chunk.segment[at] as number,
      offset: chunk.offset[at] as number,
      length: chunk.length[at] as number,
      crc: chunk.crc[at] as number,
      status: tag.status,
      tag: tag.tag,
    };
  }

  /** Adds an entry unless the index has a newer entry, because segments are read in any order. `always`: adds it in any case. */
  set(key: string, entry: IndexEntry, always = false): void {
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#size++;
      if (number % CHUNK === 0) this.#chunks.push(newChunk());
      this.#numbers.set(key, number);
    } else if (!always && (this.#chunks[Math.floor(number / CHUNK)] as Chunk).at[number % CHUNK]! > entry.at) {
      return;
    }
    const chunk = this.#chunks[Math.floor(number / CHUNK)] as Chunk;
    const at = number % CHUNK;
    chunk.at[at] = entry.at;
    chunk.segment[at] = entry.segment;
    chunk.offset[at] = entry.offset;
    chunk.length[at] = entry.length;
    chunk.crc[at] = entry.crc;
    chunk.tag[at] = this.#tagNumber(entry.status, entry.tag);
  }

  #tagNumber(status: UnitStatus, tag: string | null): number {
    const known = this.#tags.findIndex((other) => other.status === status && other.tag === tag);
    if (known >= 0) return known;
    // Tags are an open set, so the table is bounded against a hostile service.
    if (this.#tags.length >= 1000) return this.#tagNumber('error', 'OTHER');
    return this.#tags.push({ status, tag }) - 1;
  }
}

function newChunk(): Chunk {
  return {
    at: new Float64Array(CHUNK),
    segment: new Uint32Array(CHUNK),
    offset: new Float64Array(CHUNK),
    length: new Uint32Array(CHUNK),
    crc: new Uint32Array(CHUNK),
    tag: new Uint16Array(CHUNK),
  };
}

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
