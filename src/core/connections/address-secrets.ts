/** `--flag=`, then the driver of another program, then the scheme, then the rest. Spaces between them are typing errors. */
const address =
  /^\s*(?:--?[\w-]+=)?['"\s]*((?:(?:jdbc|odbc|adbc)\s*:\s*)?[a-z][a-z0-9+.-]+)\s*:(\s*\/\s*\/?\s*|)(.*)$/is;
/** Schemes that are also written without slashes. */
const databases =
  /^((jdbc|odbc|adbc):.*|(mysql2?|mariadb|mongodb|snowflake|redshift|bigquery|oracle|mssql|sqlserver|sqlite3?|duckdb|motherduck|md|rediss?|clickhouse|trino|presto|databricks|db2|s?ftp|postgres(ql)?)([+.-].*)?)$/i;
/** Schemes whose queries are shown: the parameters of pages, buckets and PostgreSQL are no secrets, but those of these names. */
const known = /^(https?|s3|postgres(ql)?)$/i;
export const secretParameter = /sig|token|key|secret|pass|pwd|jwt|sess|credential|auth/i;
/** The name of a secret in front of its value, as in variables, connection strings and the queries of addresses; a partition `key=1` is none. */
const named =
  /(?<![\w.-])(?:[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|(?:api|access|account|auth|private|shared|encryption|master)[_-]?key|[_-]key|signature|credentials?|jwt)|(?:[\w.-]*[_.?-])?(?:pass|pwd|pw|sig))(?:[_-]\w+)?\s*=\s*(?:'([^']+)'|"([^"]+)"|([^\s;&'"]+))/gi;
/** A program that reads or sends data, with its options. */
const command =
  /(?:^|[\s/\\'"])(?:\w*sql\w*|maria\w*|mongo\w*|redis-cli|clickhouse\w*|curl|sshpass|duckdb|trino|presto|bcp)\s/i;
const commandPassword = /\s(?:-[pPaW]|--?pass\w*)[\s=]*['"]?([^\s'"]+)/g;
/** `user:password@host`, `user/password@host` of Oracle, variables, arguments of curl. */
const misspelt = [
  /^\s*\S*?:([^\s@/\\][^\s@]*)@[^\s@]\S*\s*$/g,
  /^\s*(?:\S*[/'"=])?[^\s/@:'"=]+\/([^\s/@]+)@(?:\/|[\w.-]+:\d)\S*\s*$/g,
  /^['"\s]*[^\s/@:.'"=]+\/([^\s/@]+)@(?:[\w-]+|[\w.-]+\/\w+)$/g,
  /\b[A-Z0-9_]*(?:PASS|PWD|SECRET|TOKEN|KEY)[A-Z0-9_]*=(\S+)/g,
  named,
  /[^\s\w][a-z][a-z0-9+.-]*:\/+[^\s@:]*:([^\s'"]+)@/gi,
  /\s(?:-u|--user|--proxy-user)[\s=]*[^\s:]+:(\S+)/g,
  /\bauthorization\s*:\s*\w+\s+(\S+)/gi,
];
/** Addresses of webhooks, whose path is the secret. A file of rows has another ending. */
const hook =
  /^\s*https?:\/+(?:hooks\.[^/]*|[^/]*webhook[^/]*|[^/]*\/(?:[^?]*\/)?(?:(?:web)?hooks?\w*|services(?=\/T)|bot(?=\d+:)))(?:\/|(?<=bot))(?!.*\.(?:csv|tsv|txt|jsonl|ndjson|json|parquet|pq)(?:\.gz)?(?:\?|$))(.+)/i;

/** Whether a text is the address of a webhook, whose path is a secret. */
export const isHook = (text: string): boolean => hook.test(text);

interface Parts {
  readonly scheme: string;
  /** What follows the slashes. */
  readonly rest: string;
}

function partsOf(text: string): Parts | null {
  const [, written = '', slashes = '', rest = ''] = address.exec(text) ?? [];
  const scheme = written.replace(/\s/g, '').toLowerCase();
  const isAddress = scheme !== '' && (slashes !== '' || databases.test(scheme));
  return isAddress ? { scheme, rest: rest.replace(/^[\s/]+/, '') } : null;
}

/**
 * The scheme of an address that is read by no part of this program, such as `mysql` or `jdbc:oracle`; an empty text for one that has a user
 * and no scheme; null for other texts.
 */
export function foreignScheme(text: string): string | null {
  const parts = partsOf(text);
  if (parts === null) return misspeltSecrets(text).length > 0 ? '' : null;
  return known.test(parts.scheme) ? null : parts.scheme;
}

const secretsOf = (text: string, form: RegExp): readonly string[] =>
  [...text.matchAll(form)].map(([, ...forms]) => forms.find((one) => one !== undefined) ?? '');

/** Secrets in a text that is no address: a mistyped one, one in another program's form, or the arguments of a program. */
export const misspeltSecrets = (text: string): readonly string[] =>
  [...misspelt, ...(command.test(text) ? [commandPassword] : [])].flatMap((form) => secretsOf(text, form));

/** One line of another program without its addresses, and without values that may be secrets. */
export const withoutSecrets = (line: string): string =>
  misspeltSecrets(line)
    .reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '…')), line)
    .replace(/\b([a-z][a-z0-9+.-]*:\/+)[^\s'"<>]+/gi, '$1…')
    .replace(/\S+[:/][^\s@]+@\S+/g, '…')
    .replace(/([\w-]*(?:auth|key|token|secret|pass|pwd|cookie|cred|sess|sig)[\w-]*['"]?\s*[:=]\s*)\S.*/i, '$1…');

/** The parts of an argument that may be secrets: user and password of an address, and the values of its query. */
export function addressSecrets(argument: string): readonly string[] {
  const parts = partsOf(argument);
  if (parts === null) return misspeltSecrets(argument).filter((text) => text !== '');
  const found = [...secretsOf(argument, named)];
  const [, path] = hook.exec(argument) ?? [];
  if (path !== undefined) found.push(path, ...path.split('/').filter((part) => part.length > 5));
  const { scheme, rest } = parts;
  const isKnown = known.test(scheme);
  const first = /^[^/?#]*/.exec(rest)?.[0] ?? '';
  // What follows the colon is no port, so it is a password with a character that ends other authorities.
  const isCut = !first.includes('@') && /^[^:[]*:(?!\d*$)/.test(first);
  const authority = isKnown && !isCut ? first : rest;
  const at = authority.lastIndexOf('@');
  if (at !== -1) {
    const user = authority.slice(0, at);
    found.push(`${user}@`);
    const password = user.includes(':') ? user.slice(user.indexOf(':') + 1) : '';
    // A password that is also another part of the address would be hidden in every word.
    if (
      password.length > 2 &&
      ![scheme, user.split(':', 1)[0], rest.slice(at)].some((part) => part?.includes(password))
    )
      found.push(password, decoded(password));
  }
  const query = /[?;](.*)$/s.exec(rest.slice(at + 1))?.[1] ?? '';
  if (!isKnown && query.length > 2) found.push(query);
  for (const parameter of query.split(/[&;?]/)) {
    const [name = '', ...value] = parameter.split('=');
    const text = value.join('=');
    if (text.length > 2 && (isKnown ? secretParameter.test(name) : true)) found.push(text, decoded(text));
  }
  return found;
}

/** Decodes a part of an address; a password may contain a `%` that is not an escape. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
