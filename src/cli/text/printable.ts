import { stripVTControlCharacters } from 'node:util';

/**
 * Text from elsewhere (page titles, server messages, file names, cells) as a terminal may show it: on one line, without
 * escape sequences, control characters, or the invisible marks that turn the direction of text around.
 */
export function printable(text: string, most = 500): string {
  const flat = stripVTControlCharacters(text)
    .replace(/[\r\n\t\u2028\u2029]+/g, ' ')
    // Cc: controls; Cf: directions, zero widths and tags; Cs: lone surrogates.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '');
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** The same for several lines: each made printable, indentation kept. */
export function printableLines(text: string): string {
  return text
    .split('\n')
    .slice(0, 100)
    .map((line) => printable(line))
    .join('\n');
}
