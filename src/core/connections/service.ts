/** The public service, the default address. */
export const DEFAULT_BASE_URL = 'https://api.exa.ai';
