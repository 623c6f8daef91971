/** Temporal refuses a summary of more than 400 bytes; a character has at most 4 bytes. */
const MOST_CHARACTERS = 100;

/** The summary of a workflow for Temporal's UI, cut to the length that Temporal accepts. */
export const staticSummary = (text: string): { readonly staticSummary: string } => ({
  staticSummary: [...text].slice(0, MOST_CHARACTERS).join(''),
});
