import { efforts } from '../../core/runs/agent-run.js';
import { shellWord } from '../../core/text/shell-word.js';

/**
 * Adds a sentence to `mistakes` for an unknown `--effort`. An effort that this version does not know can be sent with
 * `--option`.
 */
export function checkEffort(effort: string | undefined, mistakes: string[]): void {
  if (effort === undefined || (efforts as readonly string[]).includes(effort)) return;
  mistakes.push(
    `--effort: '${effort}' must be one of ${efforts.join(', ')}. To send another effort of the service:\n  --option ${shellWord(`effort=${effort}`)}`,
  );
}
