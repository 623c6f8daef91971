/** An escaped backslash or a whole surrogate pair, which are kept, or half of a pair, which is captured. */
const SURROGATES = /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})/g;
/** Like `SURROGATES`, or NUL. */
const NULS_TOO =
  /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2})/g;

const mend = (json: string, escapes: RegExp) =>
  json.replace(escapes, (match, name: string | undefined) => (name === undefined ? match : `\\\\${name}`));

/**
 * JSON may name half of a surrogate pair (`\ud800`), which no database can hold as text: it is not a character. Six characters
 * that name it replace such a half, so that it stays visible and is not lost.
 */
export function mendSurrogates(json: string): string {
  return mend(json, SURROGATES);
}

/** Like `mendSurrogates`, also for NUL (`\u0000`), which PostgreSQL's text cannot hold. */
export function mendForPostgres(json: string): string {
  return mend(json, NULS_TOO);
}

/** Whether these bytes of JSON may contain half a pair. Pairs of surrogates are hardly ever written as escapes. */
export function mayHoldHalves(json: Buffer): boolean {
  return json.includes('\\ud') || json.includes('\\uD');
}
