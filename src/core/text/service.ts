/** The public service (public facts section 1.1), where no other address is given. */
export const DEFAULT_BASE_URL = 'https://api.exa.ai';
