import { stripVTControlCharacters } from 'node:util';

/**
 * Makes text from elsewhere (page titles, server messages, file names, cells) safe for a terminal: one line, without escape
 * sequences, control characters, or invisible marks that reverse the direction of text.
 */
export function printable(text: string, most = 500): string {
  const flat = stripVTControlCharacters(text)
    .replace(/[\r\n\t\u2028\u2029]+/g, ' ')
    // Cc: control characters; Cf: direction marks, zero widths and tags; Cs: lone surrogates.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '');
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** Returns up to 100 lines. Each line is made printable and keeps its indentation. */
export function printableLines(text: string, mostInLine?: number): string {
  return text
    .split('\n')
    .slice(0, 100)
    .map((line) => printable(line, mostInLine))
    .join('\n');
}
