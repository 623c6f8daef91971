import { efforts } from '../../core/agent-run.js';
import { misspelt } from '../../core/text/nearest.js';

/** Adds a sentence to `mistakes` for a misspelt `--effort`. Other efforts may be new ones of the service. */
export function checkEffort(effort: string | undefined, unchecked: boolean | undefined, mistakes: string[]): void {
  if (effort === undefined || unchecked || (efforts as readonly string[]).includes(effort)) return;
  const meant = misspelt(effort, efforts);
  if (effort === '' || meant !== null)
    mistakes.push(
      `--effort: '${effort}' is unknown; did you mean ${meant ?? efforts[0]}? To send it unchanged, pass --unchecked.`,
    );
}
