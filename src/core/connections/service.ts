/** Address of the public service, used by default. */
export const DEFAULT_BASE_URL = 'https://api.exa.ai';
