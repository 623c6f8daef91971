import { once } from 'node:events';
import { connect, constants, createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { certificates } from './certificates.js';

/** What the proxy asks of its clients: a certificate of the authority, a key, or both. */
export interface ProxyAsks {
  readonly certificate?: boolean;
  readonly apiKey?: string;
}

/** A Temporal endpoint with TLS in front of a server without it. Its certificate is for `temporal.example`. */
export async function startTemporalProxy(upstream: string, { certificate = false, apiKey }: ProxyAsks) {
  const session = connect(`http://${upstream}`);
  session.on('error', () => undefined);
  const server = createSecureServer({
    ca: certificates.authority.certificate,
    cert: certificates.server.certificate,
    key: certificates.server.privateKey,
    requestCert: certificate,
    rejectUnauthorized: certificate,
  });
  let passed = 0;
  const pass = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    passed += 1;
    const up = session.request({ ...headers, ':scheme': 'http', ':authority': upstream }, { endStream: false });
    let trailers: IncomingHttpHeaders = {};
    up.on('response', (found, flags) => {
      const isAll = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      if (!stream.closed) stream.respond(found, isAll ? { endStream: true } : { waitForTrailers: true });
    });
    up.on('trailers', (found) => {
      trailers = found;
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.on('error', () => undefined).on('close', () => up.close(constants.NGHTTP2_CANCEL));
    up.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    stream.pipe(up);
    up.pipe(stream);
  };
  server.on('stream', (stream, headers) => {
    if (apiKey === undefined || headers.authorization === `Bearer ${apiKey}`) pass(stream, headers);
    else {
      const refusal = {
        'content-type': 'application/grpc',
        'grpc-status': '16',
        'grpc-message': 'Request unauthorized.',
      };
      stream.respond({ ':status': 200, ...refusal }, { endStream: true });
    }
  });
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (one) => sessions.add(one));
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Number of calls that were passed on. */
    passed: () => passed,
    close: () => {
      for (const one of sessions) one.destroy();
      server.close();
      session.destroy();
    },
  };
}
