import { stripVTControlCharacters } from 'node:util';

/**
 * Returns text from elsewhere (page titles, server messages, file names, cells) safe for a terminal: on one line, without escape
 * sequences, control characters or invisible marks that reverse the direction of text.
 */
export function printable(text: string, most = 500): string {
  const flat = stripVTControlCharacters(text)
    .replace(/[\r\n\t\u2028\u2029]+/g, ' ')
    // Cc: controls; Cf: directions, zero widths and tags; Cs: lone surrogates.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '');
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** Returns up to 100 lines, each made printable, with their indentation. */
export function printableLines(text: string): string {
  return text
    .split('\n')
    .slice(0, 100)
    .map((line) => printable(line))
    .join('\n');
}
