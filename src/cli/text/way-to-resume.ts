/** A word of a command as `shellWord` writes it, without the dot of a sentence. */
const WORD = String.raw`(?:[^\s'\\]|\\.|'[^']*')*(?:[^\s'\\.]|\\.|'[^']*')`;
const lastClause = new RegExp(String.raw`[,;.:]?\s*[^,;.:]*:\s*searchflow resume ${WORD}$`);
const thenResume = new RegExp(`, then resume ${WORD}\\.?$`);
const lastCommand = new RegExp(
  String.raw`: (searchflow resume ${WORD}(?: --max-cost \d+(?:\.\d+)?| --skip-refused|(?: --accept-warning [\w.:-]+)+)?)\.?$`,
);

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the reason of a pause without the last clause, which says how to resume: a command, or `then resume JOB`. The caller adds the
 * typed command instead.
 */
export function withoutCommand(message: string | null): string | null {
  return withoutResume(message)?.replace(lastClause, '.') ?? null;
}

/** Returns the reason of a pause without "then resume JOB", which is not a command to copy. A command in the reason is kept. */
export function withoutResume(message: string | null): string | null {
  return message?.replace(thenResume, '.') ?? null;
}

/** Whether a message already says how to continue. Then no second way is added. */
export const namesWay = (message: string): boolean => /searchflow |same command|command again/.test(message);

/** Returns a sentence whose last part, a command to copy, is on a line of its own. Stored messages have only one line. */
export function commandOnOwnLine(sentence: string): string {
  return sentence.replace(lastCommand, ':\n  $1');
}

/** Returns a sentence whose commands can be copied. In a clone, npm runs the commands. */
export function commandsAsTyped(sentence: string, env: Env): string {
  const script = env.npm_lifecycle_event;
  const typed =
    script === 'npx'
      ? 'npx searchflow '
      : script === 'start' || script === 'searchflow'
        ? 'npm run -s searchflow -- '
        : null;
  return typed === null ? sentence : sentence.replace(/\bsearchflow (?=resume|limits|cancel|retry)/g, typed);
}
