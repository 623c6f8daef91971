import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keptReason, type RemovedBodies } from '../../core/purchase/forgotten.js';
import { BodiesGone, type UnitRecord } from '../../core/purchase/journal.js';
import { endOfText } from '../../core/text/exact-json.js';
import { writeDurably, writePieces } from '../../files/write-durably.js';
import type { IndexEntry, LandedUnits } from './landed-units.js';
import type { SegmentStore } from './segment-store.js';
import { decodeLine, encodeLine } from './unit-record.js';

/** The beginning of each line of a unit file. It stays, because a killed process could not find the rest of its line otherwise. */
const HEAD = /^\{"key":"([0-9a-f]{32})"/;
const HEAD_BYTES = '{"key":""'.length + 32;
const [SPACE, BRACE, LINE_FEED] = [32, 125, 10];
const UNIT = /^\{"key":"([0-9a-f]{32})","unit":(?=")/;

/** See `ForgettingJournal.search`. */
export async function searchBodies(
  dir: string,
  text: string,
  each: (key: string, unit: string) => void,
): Promise<void> {
  const wanted = JSON.stringify(text).slice(1, -1).toLowerCase();
  for (const path of filesIn(dir).filter(isBodies)) {
    for await (const { line } of linesOf(path)) {
      const json = line.toString('utf8');
      const [head = '', key] = UNIT.exec(json) ?? [];
      const unit = json.slice(head.length, endOfText(json, head.length));
      if (key && unit.toLowerCase().includes(wanted)) each(key, unit);
    }
  }
}

/**
 * Overwrites the bodies of units with spaces, in all files of bodies, those of answers that newer ones have replaced included. Removes the
 * texts that came instead of an answer. Drafts of killed processes are deleted. The caller holds the lock of the folder.
 */
export async function removeFileBodies(
  dir: string,
  keys: ReadonlySet<string>,
  dryRun: boolean,
): Promise<RemovedBodies> {
  const sum = { bodies: 0, bytes: 0 };
  for (const path of filesIn(dir)) {
    if (path.endsWith('.draft')) {
      if (!dryRun) await rm(path, { force: true });
      continue;
    }
    const found = isBodies(path) ? await blankBodies(path, keys, dryRun) : await dropTexts(path, keys, dryRun);
    sum.bodies += found.bodies;
    sum.bytes += found.bytes;
  }
  return sum;
}

const isBodies = (path: string): boolean => path.endsWith('.units.jsonl') || path.endsWith('.units');

function filesIn(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.units(\.jsonl)?$|\.journal(\.damaged-[^/]*)?$|\.searchflow-[^/]*\.draft$/.test(name))
    .sort()
    .map((name) => join(dir, name));
}

const keyOf = (line: Buffer): string | undefined => HEAD.exec(line.toString('latin1', 0, HEAD_BYTES))?.[1];

async function blankBodies(path: string, keys: ReadonlySet<string>, dryRun: boolean) {
  const sum = { bodies: 0, bytes: 0 };
  const wanted: { offset: number; length: number }[] = [];
  for await (const { line, offset } of linesOf(path)) {
    const key = keyOf(line);
    if (key === undefined || !keys.has(key) || isBlank(line)) continue;
    wanted.push({ offset, length: line.length });
    sum.bodies++;
    sum.bytes += line.length;
  }
  if (dryRun || wanted.length === 0) return sum;
  const file = await open(path, 'r+');
  try {
    for (const { offset, length } of wanted) {
      const line = Buffer.alloc(length);
      await file.read(line, 0, length, offset);
      const blank = blanked(line).subarray(HEAD_BYTES);
      await file.write(blank, 0, blank.length, offset + HEAD_BYTES);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return sum;
}

/** The line with spaces instead of all after its key. */
function blanked(line: Buffer): Buffer {
  const blank = Buffer.from(line);
  const isWhole = line.at(-1) === LINE_FEED;
  blank.fill(SPACE, HEAD_BYTES, isWhole ? line.length - 1 : line.length);
  if (isWhole) blank[line.length - 2] = BRACE;
  return blank;
}

/** The bodies of forgotten units are as good as blank: they have no data. */
const isBlank = (line: Buffer): boolean =>
  blanked(line).equals(line) || line.includes('"unit":"","operation":"forgotten"');

/** Removes the texts that came instead of answers from a file of lines, with the messages of the service. */
async function dropTexts(path: string, keys: ReadonlySet<string>, dryRun: boolean) {
  const sum = { bodies: 0, bytes: 0 };
  const intents = new Map<string, readonly string[]>();
  const lines = readFileSync(path, 'utf8').split('\n');
  const kept = lines.map((text) => {
    const line = decodeLine(text);
    if (line?.t === 'intent') intents.set(line.id, line.keys);
    if (line?.t !== 'miss' || !intents.get(line.id)?.some((key) => keys.has(key))) return text;
    const { came, ...rest } = line;
    const why = keptReason(rest.why);
    if (came === undefined && why === rest.why) return text;
    sum.bodies++;
    sum.bytes += Buffer.byteLength(came ?? rest.why);
    return encodeLine({ ...rest, why }).trimEnd();
  });
  if (!dryRun && sum.bodies > 0) await writeDurably(path, kept.join('\n'));
  return sum;
}

/** The lines of a file with their line feeds; the last one may have none. */
async function* linesOf(path: string): AsyncGenerator<{ readonly line: Buffer; readonly offset: number }> {
  let offset = 0;
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      const line = Buffer.concat([...rest, chunk.subarray(from, end + 1)]);
      rest = [];
      yield { line, offset };
      offset += line.length;
      from = end + 1;
    }
    rest.push(chunk.subarray(from));
  }
  const line = Buffer.concat(rest);
  if (line.length > 0) yield { line, offset };
}

export type Found = readonly [key: string, entry: IndexEntry];

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
