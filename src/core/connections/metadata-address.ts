const metadata =
  /^(169\.254\.|100\.100\.100\.200$|192\.0\.0\.192$|168\.63\.129\.16$|metadata\.(google\.internal|goog)\.?$|\[(::ffff:(?:0:)?a9fe:|::ffff:6464:64c8\]|::a9fe:|64:ff9b:(?:1:[0-9a-f:]*|:)a9fe:|2002:a9fe:|fe[89ab][0-9a-f]:|fd00:ec2::254\]|fd20:ce::254\]))/;

/**
 * Whether a host is an address where clouds give the keys of a machine to its programs, in any spelling of the address. A name that leads to
 * such an address is not found here.
 */
export function isMetadata(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const url = `http://${bare.includes(':') ? `[${bare}]` : bare}`;
  return URL.canParse(url) && metadata.test(new URL(url).hostname);
}
