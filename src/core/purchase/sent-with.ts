import { withoutUndefined } from '../text/without-undefined.js';

/** How requests are sent, beside their fields. */
export interface SentWith {
  /** Tokens of beta features (API reference: beta features). The tokens that `effort: max` and dynamic highlights need are added. */
  readonly beta?: readonly string[];
  /** Further headers. They are in histories, so headers with keys, tokens or cookies are refused; such headers are settings of the worker. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Sends misspelt names and values, and fields of other operations, too. Default: they are refused before anything is bought. */
  readonly unchecked?: boolean;
}

export const sentWith = ({ beta, extraHeaders, unchecked }: SentWith): SentWith =>
  withoutUndefined({ beta, extraHeaders, unchecked });

/** The part that changes answers, and so belongs to the keys of units. */
export function sendOptions(sent: SentWith): Omit<SentWith, 'unchecked'> {
  const { unchecked: _, ...options } = sentWith(sent);
  return options;
}
