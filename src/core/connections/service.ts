/** Address of the public service, used by default. */
export const DEFAULT_BASE_URL = 'https://api.exa.ai';
/** Address of the public service for the management of a team: its bill. */
export const DEFAULT_ADMIN_URL = 'https://admin-api.exa.ai';
