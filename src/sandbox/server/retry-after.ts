/**
 * Value of a `Retry-After` header for this number of seconds from now; null for the form `none`. An HTTP-date is rounded up to
 * a full second.
 */
export function retryAfterOf(form: 'none' | 'seconds' | 'http-date', seconds: number): string | null {
  if (form === 'none') return null;
  return form === 'seconds' ? String(seconds) : httpDateIn(seconds);
}

/**
 * Value of the header for a fault's `retryAfter`. `date+3` becomes an HTTP-date three seconds in the future, `date-3` becomes one three
 * seconds in the past.
 */
export function retryAfterText(text: string): string {
  const ahead = /^date([+-]\d+)$/.exec(text)?.[1];
  return ahead === undefined ? text : httpDateIn(Number(ahead));
}

function httpDateIn(seconds: number): string {
  return new Date(Math.ceil((Date.now() + seconds * 1000) / 1000) * 1000).toUTCString();
}
