import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { UsageError } from '../../core/errors/coded-error.js';
import { isJobId } from '../../core/rows/job-ids.js';
import { readSegment, Segment, type SegmentContents } from './segment.js';
import { type SegmentEnds, SegmentWriter } from './segment-writer.js';
import type { SpendSums } from './spend.js';
import type { SegmentLine, UnitEntry, UnitLine } from './unit-record.js';

const LINES = '.journal';
const UNITS = '.units.jsonl';
/** The most segments that are open for writing; above this number, the segment that was idle longest is closed. */
const MAX_WRITERS = 32;

/** A segment with damaged lines, or with bodies after those that its lines name. */
export interface DamagedSegment extends SegmentContents {
  readonly segment: Segment;
}

/** The segments of a folder. They are read once and then appended to. Each line that is read or written is passed to `take`. */
export class SegmentStore {
  readonly #dir: string;
  readonly #sums: SpendSums;
  readonly #take: (segment: Segment, line: SegmentLine) => void;
  readonly #segments = new Map<string, Segment>();
  readonly #byNumber: Segment[] = [];
  readonly #ends = new Map<string, SegmentEnds>();
  readonly #writers = new Map<string, SegmentWriter>();

  constructor(dir: string, sums: SpendSums, take: (segment: Segment, line: SegmentLine) => void) {
    this.#dir = dir;
    this.#sums = sums;
    this.#take = take;
  }

  async read(): Promise<readonly DamagedSegment[]> {
    const damagedSegments: DamagedSegment[] = [];
    for (const path of segmentPaths(this.#dir)) {
      const name = relative(this.#dir, path).slice(0, -LINES.length).split(sep).join('/');
      const segment = this.#segmentOf(name);
      const { ends, damaged } = readSegment(path, (line) => this.#take(segment, line));
      this.#ends.set(name, ends);
      // If the file of bodies is longer than the lines say, a write was interrupted, or the end of the lines was lost.
      const hasTail = sizeOf(this.unitFile(name)) > ends.units;
      if (damaged.length > 0 || hasTail) damagedSegments.push({ segment, ends, damaged });
      // Lets signals of the process be handled while a large journal is read.
      await new Promise(setImmediate);
    }
    return damagedSegments;
  }

  mended({ name }: Segment, ends: SegmentEnds): void {
    this.#ends.set(name, ends);
  }

  get segments(): readonly Segment[] {
    return this.#byNumber;
  }

  find(name: string): Segment | undefined {
    return this.#segments.get(name);
  }

  numbered(number: number): Segment {
    return this.#byNumber[number] as Segment;
  }

  /** Whether a line of the segment names bodies in its unit file. */
  hasUnits({ name }: Segment): boolean {
    return (this.#ends.get(name)?.units ?? 0) > 0;
  }

  isWriting({ name }: Segment): boolean {
    return this.#writers.has(name);
  }

  lineFile(name: string): string {
    return this.#path(name, LINES);
  }

  unitFile(name: string): string {
    return this.#path(name, UNITS);
  }

  /**
   * Writes units, and then the line that names these units. Resolves when units and line are durable and passed to `take`. An async function
   * would keep the units until then.
   */
  append(
    name: string,
    units: readonly UnitLine[],
    line: (entries: readonly UnitEntry[]) => SegmentLine,
  ): Promise<void> {
    const segment = this.#segmentOf(name);
    let writer = this.#writers.get(name);
    if (!writer) {
      const ends = this.#ends.get(name);
      if (!ends) segment.writtenHere = true;
      const from = ends ?? { lines: 0, units: 0 };
      writer = new SegmentWriter(this.#path(name, LINES), this.#path(name, UNITS), from);
      this.#closeIdle();
    }
    // The writer moves to the end of the map, so that the writer that was idle longest is found first.
    this.#writers.delete(name);
    this.#writers.set(name, writer);
    return writer.append(units, line).then((written) => this.#take(segment, written));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.close()));
    this.#writers.clear();
  }

  #segmentOf(name: string): Segment {
    let segment = this.#segments.get(name);
    if (!segment) {
      segment = new Segment(name, this.#byNumber.length, this.#sums);
      this.#segments.set(name, segment);
      this.#byNumber.push(segment);
    }
    return segment;
  }

  #closeIdle(): void {
    for (const [name, writer] of this.#writers) {
      if (this.#writers.size < MAX_WRITERS) return;
      if (!writer.idle) continue;
      this.#writers.delete(name);
      this.#ends.set(name, writer.ends);
      void writer.close();
    }
  }

  #path(segment: string, ending: string): string {
    const parts = segment.split('/');
    if (!parts.every(isJobId))
      throw new UsageError('workflow-input-invalid', `"${segment}" is not a valid name of a journal segment`);
    return join(this.#dir, ...parts) + ending;
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function segmentPaths(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(LINES))
    .sort()
    .map((path) => join(dir, path));
}
