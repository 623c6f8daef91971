import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { writeDurably } from '../../files/write-durably.js';
import { type DamagedStretch, readSegment, type Segment } from './segment.js';
import type { SegmentEnds } from './segment-writer.js';
import { encodeLine, type SegmentLine, type UnitEntry } from './unit-record.js';

/** Damage in a file of the journal, and its repair. */
export interface JournalDamage {
  readonly file: string;
  /** Path of a copy of the damaged file; null if the journal was only read. */
  readonly copy: string | null;
  readonly lines: number;
  /** Number of recovered answers. The line of such an answer was damaged, but its bodies are complete. */
  readonly adopted: number;
  /** Number of answers that were bought and cannot be read. Their units are bought again only with `--rebuy`. */
  readonly gone: number;
}

interface SegmentFiles {
  readonly lines: string;
  readonly units: string;
}

interface Recovered {
  /** New lines with the contents of the damaged lines. */
  readonly lines: readonly SegmentLine[];
  readonly adopted: number;
  readonly gone: number;
  /** Offset of the end of the recovered bodies. */
  readonly unitsEnd: number;
  /** Whether an answer was recovered whose intent is lost, too, so that lines are missing at the end. */
  readonly lostLines: boolean;
}

interface FoundBody {
  readonly record: UnitRecord;
  readonly entry: UnitEntry;
}

type IntentLine = Extract<SegmentLine, { t: 'intent' }>;

/**
 * Recovers the contents of damaged lines. Answers are recovered from the bodies that no complete line names. If these bodies cannot be read
 * either, the answer is recorded with zero bytes, so that the answer counts as bought. Without damaged lines, only whole answers of the end are
 * recovered: a process was killed between the bodies and their line, or the last lines were lost.
 */
export function recover(segment: Segment, files: SegmentFiles, damaged: readonly DamagedStretch[]): Recovered {
  if (damaged.length === 0) return recoverTail(segment, files);
  const lines: SegmentLine[] = [];
  let gone = 0;
  const open = new Map(segment.open);
  const lost = (intent: IntentLine, known: readonly string[]): UnitEntry[] => {
    const keys = intent.keys.filter((key) => !known.includes(key));
    gone += keys.length;
    // The checksum 1 is wrong for zero bytes, so the body counts as damaged.
    return keys.map((key) => [key, 0, 0, 1, 'success', null, Math.round(intent.est / intent.keys.length)]);
  };
  const { bodies } = strayBodies(files, damaged);
  for (const group of groups(bodies, [...open.values()].reverse())) {
    const { record } = group.bodies[0] as FoundBody;
    const at = Date.parse(record.fetched_at);
    const units = group.bodies.map(({ entry }) => entry);
    const { intent } = group;
    if (intent) open.delete(intent.id);
    else if (record.request_id === null && units.every((unit) => unit[6] === 0)) {
      lines.push({ t: 'settle', at, op: record.operation, units });
      continue;
    }
    if (intent)
      units.push(
        ...lost(
          intent,
          units.map(([key]) => key),
        ),
      );
    lines.push({ t: 'answer', id: intent?.id ?? randomUUID(), at, req: record.request_id, units });
  }
  for (const { text, legible } of damaged) {
    if (legible.length > 0) continue;
    for (const intent of answeredBy(
      text,
      [...open.values()].filter(({ id }) => !segment.started(id)),
    )) {
      open.delete(intent.id);
      lines.push({ t: 'answer', id: intent.id, at: intent.at, req: null, units: lost(intent, []) });
    }
  }
  return { lines, adopted: bodies.length, gone, unitsEnd: endOf(bodies), lostLines: false };
}

/** Recovers whole answers from the bodies after the last line. Units of an incomplete answer stay open, and become an unknown outcome. */
function recoverTail(segment: Segment, files: SegmentFiles): Recovered {
  const { bodies, asked } = strayBodies(files, null);
  const found = groups(bodies, [...segment.open.values()].reverse()).filter(({ intent, bodies: some }) => {
    const keys = new Set(some.map(({ entry }) => entry[0]));
    // The answer of an intent that has ended is recorded elsewhere.
    return intent ? intent.keys.every((key) => keys.has(key)) : ![...keys].some((key) => asked.has(key));
  });
  const lines = found.map(({ intent, bodies: some }): SegmentLine => {
    const { record } = some[0] as FoundBody;
    const units = some.map(({ entry }) => entry);
    const at = Date.parse(record.fetched_at);
    return { t: 'answer', id: intent?.id ?? randomUUID(), at, req: record.request_id, units };
  });
  const adopted = found.flatMap(({ bodies: some }) => some);
  const lostLines = found.some(({ intent }) => intent === undefined);
  return { lines, adopted: adopted.length, gone: 0, unitsEnd: endOf(adopted), lostLines };
}

const endOf = (bodies: readonly FoundBody[]): number =>
  bodies.reduce((end, { entry }) => Math.max(end, entry[1] + entry[2]), 0);

/**
 * Texts that never occur in lines of answers. Each other kind of line has several of these texts, so that a damaged line still shows one.
 */
const noAnswer = /"t":"(intent|note|miss|settle)"|"(owner|keys|est|deadline|facts|why|charged)":/;

/** Returns the open intents that a damaged line may have answered: the intent that the line names, or else all open intents. */
function answeredBy(text: string, open: readonly IntentLine[]): readonly IntentLine[] {
  if (noAnswer.test(text)) return [];
  const named = open.filter(({ id, keys }) => text.includes(id) || keys.some((key) => text.includes(key)));
  return named.length > 0 || /"id":"[0-9a-f-]{36}"/.test(text) ? named : open;
}

/**
 * Readable bodies in the unit file that no complete line names, and the keys that were asked for. `damaged`: null for all bodies after the last
 * line.
 */
function strayBodies(
  files: SegmentFiles,
  damaged: readonly DamagedStretch[] | null,
): { readonly bodies: readonly FoundBody[]; readonly asked: ReadonlySet<string> } {
  const asked = new Set<string>();
  if (!existsSync(files.units)) return { bodies: [], asked };
  const data = readFileSync(files.units);
  const known: (readonly [from: number, to: number])[] = [];
  const { ends } = readSegment(files.lines, (line) => {
    if (line.t === 'intent') for (const key of line.keys) asked.add(key);
    if (line.t === 'answer' || line.t === 'settle')
      for (const [, offset, length] of line.units) known.push([offset, offset + length]);
  });
  // After the last complete answer there may be bodies of an interrupted write. Such bodies count only if the last line is damaged.
  const isLast = damaged === null || damaged.at(-1)?.to === ends.lines;
  known.push(isLast ? [data.length, data.length] : [ends.units, data.length]);
  known.sort(([a], [b]) => a - b);
  const found: FoundBody[] = [];
  let from = 0;
  for (const [start, end] of known) {
    if (start > from) found.push(...bodiesIn(data.subarray(from, start), from));
    from = Math.max(from, end);
  }
  return { bodies: found, asked };
}

function bodiesIn(gap: Buffer, offset: number): FoundBody[] {
  const found: FoundBody[] = [];
  for (let from = 0; from < gap.length; ) {
    const end = gap.indexOf(10, from) + 1;
    if (end === 0) break;
    const body = gap.subarray(from, end);
    const record = asRecord(body.toString('utf8'));
    if (record) {
      const { key, status, error_tag: tag, cost_micros: micros } = record;
      found.push({ record, entry: [key, offset + from, body.length, crc32(body), status, tag, micros] });
    }
    from = end;
  }
  return found;
}

function asRecord(text: string): UnitRecord | null {
  try {
    const record = JSON.parse(text) as UnitRecord;
    const whole =
      typeof record.key === 'string' &&
      (record.status === 'success' || record.status === 'error') &&
      Number.isSafeInteger(record.cost_micros) &&
      !Number.isNaN(Date.parse(record.fetched_at));
    return whole ? record : null;
  } catch {
    return null;
  }
}

interface Group {
  readonly intent: IntentLine | undefined;
  readonly bodies: FoundBody[];
}

/**
 * Groups bodies by answer. The bodies of one answer have the same newest open intent for their key, or else the same request id and time.
 */
function groups(bodies: readonly FoundBody[], open: readonly IntentLine[]): readonly Group[] {
  const found = new Map<string, Group>();
  for (const body of bodies) {
    const { key, request_id: request, fetched_at: at } = body.record;
    const asking = open.filter(({ keys }) => keys.includes(key));
    const intent = asking.find((one) => one.at <= Date.parse(at)) ?? asking[0];
    const name = intent?.id ?? `${request} ${at}`;
    const group = found.get(name) ?? { intent, bodies: [] };
    group.bodies.push(body);
    found.set(name, group);
  }
  return [...found.values()];
}

/**
 * Copies a damaged file, and replaces the file by a repaired one. In the repaired file, complete lines are unchanged, legible lines keep
 * their position, and recovered lines are at the end. Returns the path of the copy and the new ends of the segment. An interrupted write is
 * completed without a copy.
 */
export async function rewrite(
  files: SegmentFiles,
  damaged: readonly DamagedStretch[],
  { lines, unitsEnd, lostLines }: Recovered,
  ends: SegmentEnds,
  now: number,
): Promise<{ readonly copy: string | null; readonly ends: SegmentEnds }> {
  const isDamaged = damaged.length > 0 || lostLines;
  const copy = isDamaged ? `${files.lines}.damaged-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}` : null;
  const data = readFileSync(files.lines);
  if (copy !== null) await writeDurably(copy, data);
  const parts: Buffer[] = [];
  let from = 0;
  for (const stretch of damaged) {
    parts.push(data.subarray(from, stretch.from), Buffer.from(stretch.legible.map(encodeLine).join('')));
    from = stretch.to;
  }
  parts.push(data.subarray(from, ends.lines), Buffer.from(lines.map(encodeLine).join('')));
  const mended = Buffer.concat(parts);
  const units = Math.max(ends.units, unitsEnd);
  if (copy !== null) await keepTail(files.units, units, `${copy}.units`);
  await writeDurably(files.lines, mended);
  return { copy, ends: { lines: mended.length, units } };
}

/** Copies the bodies after the last answer, because these bodies may belong to a damaged answer and the writer will cut them off. */
async function keepTail(file: string, from: number, copy: string): Promise<void> {
  if (!existsSync(file)) return;
  const tail = readFileSync(file).subarray(from);
  if (tail.length > 0) await writeDurably(copy, tail);
}

export function damageText({ file, copy, lines, adopted, gone }: JournalDamage): string {
  const answers = [
    ...(adopted > 0 ? [`${adopted} paid answer(s) were recovered`] : []),
    ...(gone > 0 ? [`${gone} paid answer(s) cannot be read any more. To buy them again, pass --rebuy`] : []),
    ...(adopted + gone === 0 ? ['No paid answer is affected'] : []),
  ];
  const repair =
    copy === null ? 'The next worker repairs the file and keeps a copy' : `The file is repaired; a copy is ${copy}`;
  const what = lines === 0 ? 'has lost its last lines' : `has ${lines} damaged line(s)`;
  return `The journal file ${file} ${what}. ${answers.join('. ')}. ${repair}`;
}
