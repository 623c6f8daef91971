import { quoted } from './csv-error.js';

/** Longest URL the service takes, in characters. */
const MAX_URL = 2048;
const CONTROL = /\p{Cc}/u;

/** Why a text (trimmed, not empty) is no URL that can be asked for, as the end of a sentence; `null` for one that is. */
export function urlProblem(text: string): string | null {
  if (text.length > MAX_URL) return `a URL of ${text.length} characters; ${MAX_URL} is the limit`;
  if (!/^https?:\/\//i.test(text)) return `${quoted(text)} does not begin with http:// or https://`;
  // A URL parser would drop them silently, and something else would be bought than what stands in the cell.
  if (CONTROL.test(text)) return `${quoted(text)} has a control character or line break inside`;
  return URL.canParse(text) ? null : `${quoted(text)} is not a valid URL`;
}
