type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the reason of a pause without its last clause, which says to resume: the caller adds the command as it was typed. In messages of
 * earlier versions that clause names a command.
 */
export function withoutCommand(message: string | null): string | null {
  return withoutResume(message)?.replace(/[,;.:]?\s*[^,;.:]*:\s*searchflow resume [^\s,;]+$/, '.') ?? null;
}

/** Returns the reason of a pause without "then resume JOB", which cannot be copied as a command; a command in the reason stays. */
export function withoutResume(message: string | null): string | null {
  return message?.replace(/, then resume \S+$/, '.') ?? null;
}

/** Whether a message has its own way to continue, so that no second one is added. */
export const namesWay = (message: string): boolean => /searchflow |same command|command again/.test(message);

/** Returns a sentence with the command at its end on a line of its own, to copy. Messages are stored on one line. */
export function commandOnOwnLine(sentence: string): string {
  return sentence.replace(
    /: (searchflow resume \S*[^\s.](?: --max-cost \d+(?:\.\d+)?| --skip-refused)?)\.?$/,
    ':\n  $1',
  );
}

/** Returns a sentence with its commands as they are typed in a clone, where npm runs them. */
export function commandsAsTyped(sentence: string, env: Env): string {
  const script = env.npm_lifecycle_event;
  if (script !== 'start' && script !== 'searchflow') return sentence;
  return sentence.replace(/\bsearchflow (?=resume|limits|cancel)/g, 'npm run -s searchflow -- ');
}
