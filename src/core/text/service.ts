/** The public service (public facts section 1.1), the default address. */
export const DEFAULT_BASE_URL = 'https://api.exa.ai';
