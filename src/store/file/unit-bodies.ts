import { BodiesGone, type UnitRecord } from '../../core/purchase/journal.js';
import { writePieces } from '../../files/write-durably.js';
import type { LandedUnits } from './landed-units.js';
import type { SegmentStore } from './segment-store.js';
import type { IndexEntry } from './unit-index.js';

type Found = readonly [key: string, entry: IndexEntry];

/** Reads the bodies of landed units from the unit files of their segments. Rejects with `BodiesGone` if a body is damaged or missing. */
export class UnitBodies {
  readonly #units: LandedUnits;
  readonly #segments: SegmentStore;

  constructor(units: LandedUnits, segments: SegmentStore) {
    this.#units = units;
    this.#segments = segments;
  }

  /**
   * See `Journal.unitFiles`. Returns the segment's own file if this process wrote all bodies of the segment, and if most of them are asked
   * for. Files of earlier processes may have damaged or lost parts, so verified bodies are copied to `scratch`.
   */
  async files(segment: string, keys: readonly string[], scratch: string): Promise<readonly string[]> {
    const own: Found[] = [];
    const elsewhere: Found[] = [];
    const of = this.#segments.find(segment);
    const readsWhole = of?.writtenHere === true && keys.length * 2 > of.unitsLanded;
    for (const key of keys) {
      const entry = this.#units.get(key);
      if (!entry) throw new Error(`unit ${key} has not landed`);
      const isOwn = readsWhole && this.#segments.numbered(entry.segment).name === segment;
      (isOwn ? own : elsewhere).push([key, entry]);
    }
    const files = own.length > 0 ? [this.#segments.unitFile(segment)] : [];
    if (elsewhere.length > 0) {
      await writePieces(scratch, (write) => this.#each(elsewhere, (_key, body) => write(body)));
      files.push(scratch);
    }
    return files;
  }

  /** The records of landed units, by key; other keys are left out. */
  async read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    const records = new Map<string, UnitRecord>();
    await this.#each(this.#landed(keys), async (key, body) => {
      records.set(key, JSON.parse(body.toString('utf8')) as UnitRecord);
    });
    return records;
  }

  /** Reads the bodies of landed units. Missing and damaged bodies count as gone from then on. */
  async verify(keys: readonly string[]): Promise<void> {
    await this.#each(this.#landed(keys), async () => {}).catch((error: unknown) => {
      if (!(error instanceof BodiesGone)) throw error;
    });
  }

  #landed(keys: readonly string[]): readonly Found[] {
    return [...new Set(keys)].flatMap((key): Found[] => {
      const entry = this.#units.get(key);
      return entry ? [[key, entry]] : [];
    });
  }

  #each(units: readonly Found[], each: (key: string, body: Buffer) => Promise<void>): Promise<void> {
    return this.#units.eachBody(
      units,
      (segment) => this.#segments.unitFile(this.#segments.numbered(segment).name),
      each,
    );
  }
}
