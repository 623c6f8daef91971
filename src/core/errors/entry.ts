/** What a user reads about an error code. Every text is made of whole sentences; `fix` may be followed by a command on a line of its own. */
export interface ErrorEntry {
  /** A short title, without a dot. */
  readonly title: string;
  readonly happened: string;
  readonly why: string;
  readonly fix: string;
  /** A command line to copy. Words in capitals are placeholders. */
  readonly command?: string;
  /** The exit codes of commands that end with this error; a worker's error has the first one, too. Names of `exitCodes`. */
  readonly exits: readonly ('failed' | 'usage' | 'account' | 'budget' | 'stopped')[];
  /**
   * What the error has to do with money. `nothing`: nothing was bought. `kept`: paid results are kept, and the same command buys only
   * what is missing. `maybe`: a request may have been charged without an answer.
   */
  readonly cost: 'nothing' | 'kept' | 'maybe';
  /** Whether the same command can succeed. `later`: without a change, after a while. `fixed`: after the fix. `never`: no. */
  readonly retry: 'later' | 'fixed' | 'never';
}

/** The sentences of `ErrorEntry.cost`. */
export const costTexts: Readonly<Record<ErrorEntry['cost'], string>> = {
  nothing: 'Nothing was bought.',
  kept: 'Paid results are kept; the same command buys only what is missing.',
  maybe: 'A request may have been charged without an answer.',
};

/** The sentences of `ErrorEntry.retry`. */
export const retryTexts: Readonly<Record<ErrorEntry['retry'], string>> = {
  later: 'The same command can succeed later.',
  fixed: 'The same command succeeds once this is fixed.',
  never: 'The same command ends in the same way.',
};

/** The type of a group of entries: the codes stay literal types. */
export type ErrorEntries = Readonly<Record<string, ErrorEntry>>;
