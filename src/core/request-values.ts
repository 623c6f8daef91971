/** Efforts of agent runs that the service documents. The contract names only `auto`; the service may add efforts. */
export const efforts = ['auto', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;

/** The contents of a page that a request may ask for. They are priced by the page. */
export const contentTypes = ['text', 'highlights', 'summary'] as const;
