import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { stateDirOf } from '../../files/state-dir.js';
import { writeDurably } from '../../files/write-durably.js';
import { walkName } from '../../worker/control/find-walk.js';
import { FolderJobs } from '../../worker/store/folder-jobs.js';
import type { Context } from '../shared/context.js';
import { printable } from '../text/printable.js';
import type { KnownNames } from './values.js';

/** The names of schedules that a command of this folder saw last. Schedules are in Temporal, which completion must not wait for. */
const FILE = 'schedule-names.json';
const MOST_NAMES = 1000;

/**
 * Returns the names of jobs, walks and schedules that the state folder knows. A job is named by its short name if that is unique, otherwise
 * by its id. Names with characters that a terminal must not show are left out.
 */
export async function knownNames(env: Context['env'], cwd: string): Promise<KnownNames> {
  const stateDir = stateDirOf(env, cwd);
  const entries = new FolderJobs(join(stateDir, 'jobs'));
  const [jobs, walks] = await Promise.all([entries.all(), entries.walks()]);
  const named = [
    ...jobs.map(({ staged }) => ({ id: staged.job, name: staged.name })),
    ...walks.map((walk) => ({ id: walk.job, name: walkName(walk) })),
  ];
  const count = new Map<string, number>();
  for (const { name } of named) count.set(name, (count.get(name) ?? 0) + 1);
  const started = jobs.flatMap(({ schedule }) => schedule ?? []);
  return {
    jobs: sorted(named.map(({ id, name }) => (count.get(name) === 1 ? name : id))),
    schedules: sorted([...started, ...remembered(stateDir)]),
  };
}

/** Changes the recorded names of schedules. Completion is a convenience, so a failed write is ignored. */
export async function rememberSchedules(
  stateDir: string,
  change: (before: readonly string[]) => readonly string[],
): Promise<void> {
  const all = JSON.stringify([...new Set(change(remembered(stateDir)))].slice(0, MOST_NAMES));
  await writeDurably(join(stateDir, FILE), all).catch(() => undefined);
}

function remembered(stateDir: string): readonly string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(readFileSync(join(stateDir, FILE), 'utf8')));
  } catch {
    return [];
  }
}

const sorted = (names: readonly string[]) =>
  [...new Set(names)].filter((name) => name !== '' && printable(name) === name).sort();
