declare module 'pgpass' {
  /**
   * Calls back with the password for a connection, from the file of `PGPASSFILE` or `~/.pgpass`; undefined if the file has no such
   * password.
   */
  function pgpass(connection: object, callback: (password: string | undefined) => void): void;
  export = pgpass;
}
