/** An escaped backslash or a whole pair, which stay; or half of a pair. */
const SURROGATES = /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})/g;
/** The same, or NUL. */
const NULS_TOO =
  /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2})/g;

const mend = (json: string, escapes: RegExp) =>
  json.replace(escapes, (match, name: string | undefined) => (name === undefined ? match : `\\\\${name}`));

/**
 * JSON may name half of a surrogate pair (`\ud800`), which no database can hold as text: it is no character. Such a half
 * becomes the six characters that name it, so that it is seen and not lost.
 */
export function mendSurrogates(json: string): string {
  return mend(json, SURROGATES);
}

/** The same for NUL (`\u0000`) besides, which PostgreSQL's text can't hold. */
export function mendForPostgres(json: string): string {
  return mend(json, NULS_TOO);
}

/** Whether there may be half a pair among these bytes of JSON. Pairs of surrogates are hardly ever written as escapes. */
export function mayHoldHalves(json: Buffer): boolean {
  return json.includes('\\ud') || json.includes('\\uD');
}
