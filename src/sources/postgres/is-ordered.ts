/** Texts, quoted names, comments and dollar-quoted texts of SQL, parentheses, and the words ORDER BY. */
const token =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*|)\$[\s\S]*?\$\1\$|[()]|\border\s+by\b/gi;

/** Whether a SELECT orders its rows itself, not only those of a subquery or a window. */
export function isOrdered(sql: string): boolean {
  let depth = 0;
  for (const [found] of sql.matchAll(token)) {
    if (found === '(') depth++;
    else if (found === ')') depth--;
    else if (depth === 0 && /^order/i.test(found)) return true;
  }
  return false;
}
