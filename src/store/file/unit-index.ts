import { DigestMap } from '../../core/purchase/digest-map.js';
import type { UnitStatus } from '../../core/purchase/journal.js';

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
export class UnitIndex {
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
