/** A key of at least 64 uniformly distributed bits: 16 or more hex digits of a digest, or 8 or more bytes of a digest. */
export type Digest = string | Uint8Array;

const SLOT_WORDS = 3;
const MAX_LOAD = 0.7;

/**
 * Map from digests to whole numbers (0 to 2^32 - 2) in one typed array. The map takes 12 bytes per slot and 17 to 34 bytes per entry; a
 * `Map` of strings takes over 100 per entry. Entries are never deleted.
 *
 * Only the first 64 bits of a key are kept and compared. Among n keys, the probability that two different keys count as equal is n²/2^65:
 * 3 in a hundred million for a million keys.
 */
export class DigestMap {
  #slots: Uint32Array;
  #mask: number;
  #size = 0;
  /** The latest key, in two words. A pair instead of two fields would be an allocation per call. */
  #high = 0;
  #low = 0;

  /** `expected`: number of entries before the map grows for the first time. */
  constructor(expected = 1024) {
    let capacity = 16;
    while (capacity * MAX_LOAD < expected) capacity *= 2;
    this.#slots = new Uint32Array(capacity * SLOT_WORDS);
    this.#mask = capacity - 1;
  }

  get size(): number {
    return this.#size;
  }

  /** Bytes of the entries and the free slots between them. */
  get bytes(): number {
    return this.#slots.byteLength;
  }

  get(key: Digest): number | undefined {
    this.#read(key);
    const stored = this.#slots[this.#find() + 2] as number;
    return stored === 0 ? undefined : stored - 1;
  }

  has(key: Digest): boolean {
    return this.get(key) !== undefined;
  }

  /**
   * Sets or replaces the value of a key; returns true for a new key. Throws `RangeError` for a value that is not a whole number in range.
   */
  set(key: Digest, value: number): boolean {
    if (!Number.isInteger(value) || value < 0 || value > 0xfffffffe)
      throw new RangeError(`DigestMap values must be whole numbers from 0 to 4294967294 (got ${value})`);
    this.#read(key);
    let slot = this.#find();
    const isNew = this.#slots[slot + 2] === 0;
    if (isNew) {
      if (this.#size + 1 > (this.#mask + 1) * MAX_LOAD) {
        this.#grow();
        slot = this.#find();
      }
      this.#size++;
    }
    this.#put(slot, value + 1);
    return isNew;
  }

  #put(slot: number, stored: number): void {
    this.#slots[slot] = this.#high;
    this.#slots[slot + 1] = this.#low;
    this.#slots[slot + 2] = stored;
  }

  /** Returns the slot of the latest key, or the free slot for that key. */
  #find(): number {
    const slots = this.#slots;
    for (let index = this.#high & this.#mask; ; index = (index + 1) & this.#mask) {
      const slot = index * SLOT_WORDS;
      if (slots[slot + 2] === 0 || (slots[slot] === this.#high && slots[slot + 1] === this.#low)) return slot;
    }
  }

  #grow(): void {
    const old = this.#slots;
    const [high, low] = [this.#high, this.#low];
    this.#slots = new Uint32Array(old.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let slot = 0; slot < old.length; slot += SLOT_WORDS) {
      const stored = old[slot + 2] as number;
      if (stored === 0) continue;
      this.#high = old[slot] as number;
      this.#low = old[slot + 1] as number;
      this.#put(this.#find(), stored);
    }
    this.#high = high;
    this.#low = low;
  }

  #read(key: Digest): void {
    if (typeof key === 'string') {
      this.#high = hexWord(key, 0);
      this.#low = hexWord(key, 8);
      return;
    }
    if (key.length < 8) throw new RangeError('A digest must have at least 8 bytes');
    this.#high = byteWord(key, 0);
    this.#low = byteWord(key, 4);
  }
}

function byteWord(key: Uint8Array, at: number): number {
  let word = 0;
  for (let index = at; index < at + 4; index++) word = (word << 8) | (key[index] as number);
  return word >>> 0;
}

function hexWord(key: string, at: number): number {
  let word = 0;
  for (let index = at; index < at + 8; index++) word = (word << 4) | hexDigit(key.charCodeAt(index));
  return word >>> 0;
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  if (letter >= 97 && letter <= 102) return letter - 87;
  throw new RangeError('A digest must have at least 16 hex digits');
}
