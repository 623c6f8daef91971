export interface FailureTag {
  /**
   * When the unit is bought again. `pass`: at the end of its run, if the failure cost nothing; `redrive`: there with `--redrive` only; `asked`:
   * if a person asks for it. Absent: never, as for a tag that is not in the table.
   */
  readonly again?: 'pass' | 'redrive' | 'asked';
  /** Whether the failure was charged. `maybe`: its requests do not tell; `never`: its run was left running. Absent: its requests tell. */
  readonly charged?: 'maybe' | 'never';
  /** `lost`: no answer came. `unread`: the answer is kept, and another one would be no easier to parse. */
  readonly answer?: 'lost' | 'unread';
  /** Whether a retry can help, as a sentence without its dot. */
  readonly why: string;
  /** The message of the row, if the service sends none. */
  readonly message?: string;
}

const final = { why: 'the answer of the service is final' };
const passing = { again: 'pass', why: 'the failure cost nothing and may pass' } as const;
const refused = { again: 'asked', why: 'a refused request costs nothing; correct its cause first' } as const;
const unsure = (what: string) =>
  ({ again: 'redrive', charged: 'maybe', why: `${what} and may have been charged` }) as const;

/** The error tags of failed units with a rule of their own. Any other tag is a final answer of the service. */
export const failureTags = {
  CRAWL_TIMEOUT: passing,
  CRAWL_LIVECRAWL_TIMEOUT: passing,
  CRAWL_UNKNOWN_ERROR: passing,
  CRAWL_HTTP_429: passing,
  CRAWL_HTTP_500: passing,
  CRAWL_HTTP_502: passing,
  CRAWL_HTTP_503: passing,
  CRAWL_HTTP_504: passing,
  MISSING_FROM_RESPONSE: { ...passing, message: 'the answer has nothing for this row' },
  UNKNOWN_OUTCOME: { ...unsure('earlier requests got no answer'), answer: 'lost' },
  RUN_FAILED: unsure('the run failed at the service'),
  RUN_CANCELLED: { ...unsure('the run was cancelled'), again: 'asked', message: 'the run was cancelled' },
  RUN_GONE: unsure('the run is no longer known at the service'),
  RUN_OVERDUE: { again: 'asked', charged: 'never', why: 'the same run is followed again; no run is bought' },
  INVALID_REQUEST: refused,
  INVALID_REQUEST_BODY: refused,
  INVALID_URLS: refused,
  DEFAULT_ERROR: refused,
  PREVIOUS_RUN_NOT_FOUND: { ...passing, again: 'asked' },
  PREVIOUS_RUN_NOT_COMPLETED: { ...passing, again: 'asked' },
  RESPONSE_SHAPE: {
    ...{ again: 'redrive', charged: 'maybe', answer: 'unread' },
    why: 'the answer was paid for, but could not be parsed; --reparse parses it again and buys nothing',
  },
  NO_CONTENT: { ...final, message: 'the service reported a success without content' },
  JOB_CANCELLED: { ...final, message: 'the run was ended because its job was cancelled' },
  FORGOTTEN: { why: 'its data was removed by forget', message: 'a person removed the data of this row' },
} as const satisfies Readonly<Record<string, FailureTag>>;

export const ruleOf = (tag: string | null): FailureTag =>
  Object.hasOwn(failureTags, tag ?? '') ? failureTags[tag as keyof typeof failureTags] : final;
export const isLeftRunning = (tag: string | null): boolean => ruleOf(tag).charged === 'never';

/** Tags of failed rows that may succeed later: the cause of a refusal, which cost nothing, may be corrected, too. */
export const transientTags: readonly string[] = Object.entries<FailureTag>(failureTags)
  .filter(([, { again, answer }]) => again !== undefined && answer !== 'unread')
  .map(([tag]) => tag);

/** Tag and reason of a row that is missing from the output of its shared run. */
export const leftOut = {
  tag: 'MISSING_FROM_RESPONSE',
  reason: 'the output of the run has no object with the row_id of this row',
} as const;
