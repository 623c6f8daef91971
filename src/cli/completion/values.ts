import type { Argument, Command, Option } from 'commander';
import { eventTypes } from '../../core/events/payloads.js';
import { efforts } from '../../core/runs/agent-run.js';
import { jobStates } from '../options/job-states.js';

/** Names that the state folder knows. */
export interface KnownNames {
  readonly jobs: readonly string[];
  readonly schedules: readonly string[];
}

/** The values of a flag or an argument; `kind`: what the shell offers if no word fits. */
export interface Values {
  readonly kind?: 'files' | 'folders';
  readonly words: readonly string[];
}

type Source = (names: KnownNames) => Values;

const words =
  (...list: readonly string[]): Source =>
  () => ({ words: list });
const files: Source = () => ({ kind: 'files', words: [] });
const folders: Source = () => ({ kind: 'folders', words: [] });
const jobs =
  (...more: readonly string[]): Source =>
  (names) => ({ words: [...names.jobs, ...more] });
const schedules: Source = (names) => ({ words: names.schedules });

/** Values by the placeholder of a flag or the name of an argument, as `<file>`. */
const byPlaceholder: Readonly<Record<string, Source>> = {
  ...{ file: files, definition: files, changes: files, address: files, target: files },
  ...{ dir: folders, folder: folders },
  job: jobs(),
  zone: () => ({ words: Intl.supportedValuesOf('timeZone') }),
};

/** Values of flags whose placeholder does not say enough. */
export const byFlag: Readonly<Record<string, Source>> = {
  '--job': jobs(),
  '--state': words(...jobStates),
  '--type': words(...eventTypes),
  '--effort': words(...efforts),
  '--rate-profile': () => ({ kind: 'files', words: ['contract', 'boost', 'public'] }),
  '--delimiter': words('tab', 'semicolon', 'pipe'),
  '--csv-delimiter': words('comma', 'tab', 'semicolon', 'pipe'),
  '--schedule-name': schedules,
};

/** Values of arguments by their command: `command argument`. */
export const byArgument: Readonly<Record<string, Source>> = {
  'publish what': jobs('events', 'monitors'),
  'report what': jobs('team'),
  'sandbox trigger what': words('monitor-run', 'disable-monitor', ...eventTypes),
  'monitors approve job': words(),
  'monitors reject job': words(),
  ...Object.fromEntries(
    ['show', 'pause', 'resume', 'trigger', 'delete', 'backfill'].map((name) => [`schedule ${name} name`, schedules]),
  ),
};

const nothing = words();

export function optionValues({ argChoices, long, flags }: Option, names: KnownNames): Values {
  if (argChoices) return { words: argChoices };
  const placeholder = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? '';
  return (byFlag[long ?? ''] ?? byPlaceholder[placeholder] ?? nothing)(names);
}

export function argumentValues(command: Command, argument: Argument, names: KnownNames): Values {
  const { argChoices } = argument;
  if (argChoices) return { words: argChoices };
  const name = argument.name();
  return (byArgument[`${pathOf(command)} ${name}`] ?? byPlaceholder[name] ?? nothing)(names);
}

const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
