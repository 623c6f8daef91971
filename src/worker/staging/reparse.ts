import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOutcomes, landingOf, type Unit } from '../../activities/index.js';
import { rowKinds } from '../../activities/rows/row-requests.js';
import { contentsEndpoint, readKept } from '../../api/index.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { ruleOf } from '../../core/purchase/failure-tags.js';
import { SUCCESS, type UnitOutcome } from '../../core/purchase/journal.js';
import { buysPages, type RowOperation } from '../../core/rows/row-operation.js';
import type { MisreadAnswer, RowMarks, RowReads } from '../../core/rows/row-warehouse.js';
import { makeFolder } from '../../files/make-folder.js';
import { writeNamed } from '../../files/write-durably.js';
import { unitLine } from '../../store/file/unit-record.js';
import type { Reparsed } from '../config/runtime-types.js';

type Outcome = Omit<UnitOutcome, 'costMicros'>;

const UNREADABLE =
  'this answer was paid for, and the kept part of it cannot be parsed. To buy it again: --retry-failed';

/**
 * Parses again the answers of a job that could not be parsed, without a purchase. The answers are read from the warehouse, which keeps them
 * longer than the journal.
 */
export async function reparse(
  warehouse: RowReads & RowMarks,
  staged: StagedJob,
  scratchDir: string,
): Promise<Reparsed> {
  const answers = await warehouse.misreadAnswers(staged.job);
  if (answers.length === 0) return { answers: 0, understood: 0, rows: 0 };
  const read = [...byRequest(answers)].flatMap((request) => readRequest(staged, request));
  const lines = read.map(({ outcome, answer }) =>
    unitLine({ ...outcome, costMicros: 0 }, staged.operation, answer.requestId, answer.fetchedAt),
  );
  makeFolder(scratchDir);
  const file = join(scratchDir, `${randomUUID()}.jsonl`);
  try {
    writeNamed(file, `${lines.join('\n')}\n`);
    const rows = await warehouse.putAnswers(staged.job, file);
    const isRead = ({ errorTag, misread }: Outcome) => ruleOf(errorTag).answer === undefined && !misread;
    const understood = read.filter(({ outcome }) => isRead(outcome)).length;
    return { answers: answers.length, understood, rows };
  } finally {
    rmSync(file, { force: true });
  }
}

/** Answers that could not be parsed at all are grouped by their request. Each other answer is a group of its own. */
function byRequest(answers: readonly MisreadAnswer[]): Iterable<readonly MisreadAnswer[]> {
  const requests = new Map<string, MisreadAnswer[]>();
  for (const answer of answers) {
    const name = answer.status === 'error' ? `${answer.requestId} ${answer.fetchedAt}` : answer.key;
    requests.set(name, [...(requests.get(name) ?? []), answer]);
  }
  return requests.values();
}

function readRequest(
  { operation }: StagedJob,
  answers: readonly MisreadAnswer[],
): { readonly outcome: Outcome; readonly answer: MisreadAnswer }[] {
  const [first] = answers as readonly [MisreadAnswer];
  const units = answers.map(({ key, unit }): Unit => ({ key, unit }));
  const bodies = answers.flatMap((answer) => bodyOf(answer) ?? []);
  const outcomes = bodies.length === 1 ? outcomesOf(operation, units, first.status, bodies[0] as string) : null;
  return answers.map((answer, index) => {
    const found = outcomes?.[index];
    if (found) return { answer, outcome: found };
    const kept = answer.response === null ? null : (JSON.parse(answer.response) as object | null);
    const { key, unit, status } = answer;
    const ended = { status, errorTag: 'RESPONSE_SHAPE', httpStatus: null, source: null };
    return { answer, outcome: { key, unit, ...ended, result: { ...kept, error: UNREADABLE } } };
  });
}

/** The text of an answer. If the answer could not be parsed at all, one of its units has the text. */
function bodyOf({ status, response }: MisreadAnswer): string | null {
  if (response === null || status === 'success') return response;
  const kept = JSON.parse(response) as { readonly body?: unknown } | null;
  return typeof kept?.body === 'string' ? kept.body : null;
}

function outcomesOf(
  operation: string,
  units: readonly Unit[],
  was: MisreadAnswer['status'],
  body: string,
): readonly Outcome[] | null {
  const [unit] = units as readonly [Unit];
  if (buysPages(operation)) {
    const text = was === 'success' ? `{"results":[${body}]}` : body;
    const kept = readKept(contentsEndpoint, Buffer.from(text));
    if (kept === null) return null;
    if (was === 'error') return contentsOutcomes(units, kept);
    const { result, misread } = landingOf({
      ...kept,
      raw: () => Buffer.from(body),
      misread: kept.misread.map(ofResult),
    });
    return [{ ...unit, ...SUCCESS, result, misread }];
  }
  const { endpoint, lands = endpoint } = rowKinds[operation as RowOperation];
  const kept = readKept(lands as never, Buffer.from(body));
  return kept && [{ ...unit, ...SUCCESS, ...landingOf(kept) }];
}

/** The path of a field, relative to the only result. */
const ofResult = <M extends { readonly path: readonly PropertyKey[] }>(misread: M): M => ({
  ...misread,
  path: misread.path.slice(2),
});
