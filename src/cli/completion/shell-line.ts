/**
 * Splits a line of a shell, up to the cursor, into its words, without quotes and backslashes. The last word is the one at the cursor, and may
 * be empty. `quotedFrom`: where in the last word the quote begins that is open at the cursor; null if none is.
 */
export function shellLine(line: string): { readonly words: readonly string[]; readonly quotedFrom: number | null } {
  const words: string[] = [];
  let word = '';
  let quote = '';
  let from = 0;
  let isIn = false;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] as string;
    if (char === '\\' && quote !== "'") {
      word += line[++at] ?? '';
      isIn = true;
    } else if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) {
      quote = char;
      from = word.length;
      isIn = true;
    } else if (quote === '' && /\s/.test(char)) {
      if (isIn) words.push(word);
      word = '';
      isIn = false;
    } else {
      word += char;
      isIn = true;
    }
  }
  return { words: [...words, word], quotedFrom: quote === '' ? null : from };
}
