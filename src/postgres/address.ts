/** An address of a PostgreSQL database, taken apart. */
export interface PostgresAddress {
  /** For the driver: with user and password where given, without our own parameters. */
  readonly connectionString: string;
  readonly schema: string;
  /** Host, port, database and schema: fit to be printed, stored and compared. Never a user or password. */
  readonly shown: string;
}

/** How a connection is encrypted, in libpq's words. */
const sslModes: readonly string[] = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text);
}

/**
 * Reads `postgres://user:password@host:port/database?schema=name&sslmode=require`. `schema` is ours, every other parameter the
 * driver's, `sslmode` with the meaning that libpq gives it. Throws an `Error` that does not quote the address, which may hold a password.
 */
export function parseAddress(url: string, defaultSchema: string): PostgresAddress {
  if (!isPostgresUrl(url) || !URL.canParse(url))
    throw new Error('is not an address such as postgres://host:5432/database');
  const address = new URL(url);
  const schema = address.searchParams.get('schema') || defaultSchema;
  if (schema.length > 63 || schema.includes('\0') || schema.startsWith('pg_'))
    throw new Error('names a schema that PostgreSQL would not take');
  // Functions of ours stand between such marks.
  if (schema.includes('$body$')) throw new Error('names a schema that holds $body$');
  address.searchParams.delete('schema');
  const database = decodeURIComponent(address.pathname.slice(1));
  if (database === '') throw new Error('names no database (postgres://host:5432/database)');
  const sslMode = address.searchParams.get('sslmode');
  if (sslMode !== null) {
    if (!sslModes.includes(sslMode)) throw new Error(`has an sslmode that is none of ${sslModes.join(', ')}`);
    if (sslMode === 'verify-ca' && !address.searchParams.has('sslrootcert'))
      throw new Error('has sslmode=verify-ca without sslrootcert; give that file, or use verify-full');
    if (!address.searchParams.has('uselibpqcompat')) address.searchParams.set('uselibpqcompat', 'true');
  }
  const host = address.hostname || address.searchParams.get('host') || 'localhost';
  const port = address.port || '5432';
  const own = schema === defaultSchema ? '' : `?schema=${encodeURIComponent(schema)}`;
  return {
    connectionString: address.href,
    schema,
    shown: `postgres://${host}:${port}/${encodeURIComponent(database)}${own}`,
  };
}
