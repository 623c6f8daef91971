import { MAX_DURATION_SECONDS, MAX_RUN_SECONDS, MOST_PARALLEL, URLS_PER_REQUEST } from '../core/choices.js';
import * as values from './flag-values.js';
import { type About, type Reader, readAll, type Specs, spelled } from './flag-values.js';
import * as request from './request-fields.js';
import { DAY_MS } from './text.js';

/** Timers cannot be longer. */
const MOST_WAIT_MS = 24 * DAY_MS;
const runTime = values.durationIn(1000, '30m, 6h or 1d, and at most 365d', [1, MAX_RUN_SECONDS * 1000]);
const longestRun = '20m or 2h, of at most 24d: timers cannot be longer';
const runDuration = values.durationIn(1000, longestRun, [1, MAX_DURATION_SECONDS * 1000]);
const waitTime = values.durationIn(1, '90s, 30m or 2h, of at most 24d', [0, MOST_WAIT_MS]);

/**
 * How the values of flags are read, by the flags as the help shows them, and the field that a flag sets if that has another name. A flag
 * that is missing here sets the field of its name to its text. The names of flags that start jobs are those of the fields of their inputs.
 */
export const readers = {
  '--accept-warning <code>': { field: 'acceptWarnings' },
  '--batch <n>': { read: values.wholeNumber(URLS_PER_REQUEST) },
  '--csv-delimiter <char>': { read: values.csvDelimiter },
  '--delimiter <char>': { read: values.delimiter },
  '--encoding <name>': { read: values.encoding },
  '--every <duration>': { read: values.interval },
  '--fail-on-failed-rows [n|%]': { read: values.allowedRows, field: 'failedRows' },
  '--from <time>': { read: values.moment },
  '--key <column>': { read: values.distinct<string> },
  '--limit <n>': { read: values.wholeNumber(999_999_999) },
  '--max-cost <dollars>': { read: values.cap, field: 'maxCostDollars' },
  '--max-duration <duration>': { read: runDuration, field: 'maxDurationSeconds' },
  '--max-run-time <duration>': { read: runTime, field: 'maxRunSeconds' },
  '--metadata <key=value>': { read: request.pairs },
  '--num-results <n>': { read: values.wholeNumber(9999) },
  '--older-than <duration>': { read: values.durationIn(1, '12h, 30d or 2w'), field: 'olderThanMs' },
  '--op <operation>': { field: 'operation' },
  '--option <name=json>': { read: request.fields },
  '--parallel <n>': { read: values.wholeNumber(MOST_PARALLEL) },
  '--per-day <dollars>': { read: values.cap },
  '--per-month <dollars>': { read: values.cap },
  '--refresh-after <duration>': { read: values.refreshAge, field: 'refreshAfterMs' },
  '--request <file>': { read: request.jsonObject },
  '--row <n>': { read: values.rowNumbers },
  '--rows-per-run <n>': { read: values.wholeNumber(100) },
  '--schema <file>': { read: request.jsonObject },
  '--since <day>': { read: values.day },
  '--stop-after <n>': { read: values.wholeNumber(999_999_999) },
  '--stop-at-failed <percent>': { read: values.failedShare },
  '--tag <tag>': { read: values.distinct<string> },
  '--timeout <duration>': { read: waitTime, field: 'timeoutMs' },
  '--until <day>': { read: values.lastDay },
  '--until <time>': { read: values.lastMoment },
} as const;

/** Flags that exclude each other, in every command that has both. */
const exclusive: Readonly<Record<string, readonly string[]>> = {
  '--cron': ['--every'],
  '--detach': ['--every', '--cron', '--dry-run', '--reparse', '--fail-on-failed-rows'],
  '--fail-on-failed-rows': ['--every', '--cron'],
  '--reparse': ['--every', '--cron', '--retry-failed', '--redrive', '--rebuy', '--refresh-after'],
  '--row': ['--tag', '--url'],
  '--sql': ['--table', '--format', '--delimiter', '--encoding'],
  '--table': ['--format', '--delimiter', '--encoding'],
  '--wait-for-approval': ['--yes'],
};

/** Flags without which others have no meaning. */
const needed: Readonly<Record<string, readonly string[]>> = {
  '--cron EXPRESSION': ['--tz'],
  '--csv FILE': ['--csv-delimiter', '--csv-bom'],
  '--job NAME': ['--sql'],
  '--publish TARGET': ['--publish-mode', '--publish-key', '--publish-partition'],
};

/** The mistakes in which flags stand together. `isTyped`: whether the command line has a flag. */
const together = (isTyped: (flag: string) => boolean): readonly string[] => [
  ...Object.entries(exclusive).flatMap(([flag, others]) =>
    others
      .filter((other) => isTyped(flag) && isTyped(other))
      .map((other) => `${flag} and ${other} exclude each other. Pass one of them.`),
  ),
  ...Object.entries(needed).flatMap(([flag, others]) =>
    others.filter((other) => isTyped(other) && !isTyped(flag)).map((other) => `${other} needs ${flag}.`),
  ),
];

/** The name of a flag's value: `maxCost` for `--max-cost <dollars>`. */
export const nameOf = (flag: string) =>
  flag.replace(/^--(no-)?| .*/g, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Returns the flags of a command as its function gets them, and the mistakes in them. A flag with a mistake is null. */
export function readFlags(
  specs: Specs = {},
  typed: Readonly<Record<string, unknown>>,
  about: Omit<About, 'flag'>,
): { readonly flags: Readonly<Record<string, unknown>>; readonly mistakes: readonly string[] } {
  const flags: Record<string, unknown> = {};
  const mistakes = [...together((flag) => typed[nameOf(flag)] !== undefined)];
  const usual: Readonly<Record<string, { readonly read?: Reader<never, unknown>; readonly field?: string }>> = readers;
  for (const [flag, spec] of Object.entries(specs)) {
    const name = nameOf(flag);
    const value = typed[name];
    const { read = usual[flag]?.read } = typeof spec === 'string' ? {} : spec;
    // `--no-key` sets the value of `--key` to false.
    const isRead = read !== undefined && value !== undefined && value !== false;
    const found = readAll({ value: () => (isRead ? read(value as never, { ...about, flag: spelled(name) }) : value) });
    mistakes.push(...found.mistakes);
    if (value !== undefined) flags[usual[flag]?.field ?? name] = found.value;
  }
  return { flags, mistakes };
}
