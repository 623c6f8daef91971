import type { ExplanationsOutput } from '../../api/outputs/index.js';
import { UsageError } from '../../core/errors/coded-error.js';
import { costTexts, type ErrorEntry, retryTexts } from '../../core/errors/entry.js';
import { type ErrorCode, errorEntries, errorGroups, isErrorCode } from '../../core/errors/registry.js';
import { nearest } from '../../core/text/nearest.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { docsOf } from '../shared/failure-text.js';
import { printable } from '../text/printable.js';

/** The most characters of a word that are compared with the codes. */
const MOST_WORD = 100;

/** `searchflow explain [CODE]`: says what an error means and what to do, or lists all codes. Reads and starts nothing. */
export async function explain(
  { terminal }: Context,
  code: string | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<ExitCode> {
  if (code !== undefined && !isErrorCode(code)) throw new UsageError('invalid-argument', unknownText(code));
  const codes = code === undefined ? errorGroups.flatMap(([, all]) => all) : [code];
  if (json) terminal.data(JSON.stringify(explanations(codes)));
  else terminal.data(code === undefined ? listText() : entryText(code));
  return exitCodes.ok;
}

function unknownText(code: string): string {
  const near = nearest(code.slice(0, MOST_WORD), Object.keys(errorEntries));
  const hint = near === null ? 'To list all codes:\n  searchflow explain' : `Did you mean ${near}?`;
  return `There is no error code ${printable(code)}. ${hint}`;
}

/** All codes with their titles, in groups. */
function listText(): string {
  const width = Math.max(...Object.keys(errorEntries).map(({ length }) => length));
  return errorGroups
    .map(([group, codes]) =>
      [group, ...codes.map((code) => `  ${code.padEnd(width)}  ${errorEntries[code].title}`)].join('\n'),
    )
    .join('\n\n');
}

function entryText(code: ErrorCode): string {
  const { title, happened, why, fix, command, cost, retry } = errorEntries[code];
  return [
    `${code}: ${title}`,
    '',
    `What happened  ${happened}`,
    `Why            ${why}`,
    `What to do     ${fix}`,
    ...(command === undefined ? [] : [`                 ${command}`]),
    `Money          ${costTexts[cost]}`,
    `Retry          ${retryTexts[retry]}`,
    `Exit code      ${exitCodesOf(errorEntries[code]).join(' or ')}`,
  ].join('\n');
}

const exitCodesOf = ({ exits }: ErrorEntry): number[] => exits.map((name) => exitCodes[name]);

function explanations(codes: readonly ErrorCode[]): ExplanationsOutput {
  const errors = errorGroups.flatMap(([group, all]) =>
    all
      .filter((code) => codes.includes(code))
      .map((code) => {
        const { exits, command = null, ...texts } = errorEntries[code];
        return { code, group, ...texts, command, exitCodes: exits.map((name) => exitCodes[name]), docs: docsOf(code) };
      }),
  );
  return { kind: 'errors', errors };
}
