import { join } from 'node:path';
import { shellWord } from '../../core/text/shell-word.js';
import { processIsStopped } from '../../files/process-identity.js';
import { lockHolder } from '../../files/process-lock.js';
import { FolderJobs } from '../store/folder-jobs.js';
import { type Found, ok, problem, type Setup, warning } from './finding.js';

/** Processes that use the state folder, and work whose command has ended without a stop. */
export async function checkWork({ config }: Setup): Promise<readonly Found[]> {
  // The jobs of a store belong to all of its workers, and `searchflow jobs` shows them.
  if (config.store) return [];
  const damaged: string[] = [];
  const jobs = new FolderJobs(join(config.stateDir, 'jobs'), (sentence) => damaged.push(sentence));
  const [owned, all] = await Promise.all([jobs.owned(), jobs.all()]);
  const orphans = owned.filter(({ living }) => living.length === 0);
  const found: Found[] = [
    ...damaged.map((sentence) =>
      problem(sentence, 'Remove that file, and run the command of its job again; nothing is bought twice.'),
    ),
    ...orphans.map(({ job }) =>
      warning(
        `The command of ${job} has ended without a stop; its work waits.`,
        'The next command ends it. To continue it:',
        `searchflow resume ${shellWord(job)}`,
      ),
    ),
    ...holderFindings(config.stateDir),
  ];
  const paused = all.filter(({ state }) => state.phase === 'paused');
  if (paused.length > 0) {
    const [first] = paused;
    const names = paused.slice(0, 3).map(({ staged }) => staged.name);
    found.push(
      warning(
        `Paused jobs: ${names.join(', ')}${paused.length > 3 ? ` and ${paused.length - 3} more` : ''}.`,
        'See the reason, and resume them:',
        `searchflow status ${shellWord(first?.staged.name ?? '')}`,
      ),
    );
  }
  return found.length > 0 ? found : [ok(`Jobs in the state folder: ${all.length}; none is abandoned.`)];
}

function holderFindings(stateDir: string): readonly Found[] {
  const holder = lockHolder(join(stateDir, 'worker.lock'));
  if (holder === null) return [];
  if (!processIsStopped(holder.pid)) return [ok(`PID ${holder.pid} runs the worker of the state folder.`)];
  return [
    problem(
      `The worker of the state folder (PID ${holder.pid}) is suspended.`,
      'Continue it, or end it:',
      `kill -CONT ${holder.pid}`,
    ),
  ];
}
