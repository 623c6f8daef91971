import type { SentWith } from '../base-schemas.js';

export const sentWith = ({ beta, extraHeaders, unchecked }: SentWith): SentWith => ({ beta, extraHeaders, unchecked });

/** The part that changes answers, and so belongs to the keys of units. */
export const sendOptions = ({ beta, extraHeaders }: SentWith): Omit<SentWith, 'unchecked'> => ({ beta, extraHeaders });
